//! Devices and their enrolment tokens.

use std::collections::BTreeSet;

use orion_domain::id::InviteId;
use orion_policy::Labels;

use super::*;
use crate::store::{
    Candidate, DeviceRow, DeviceState, Hello, HelloError, InviteScope, NewInvite, PolicyMismatch,
    PolicyMismatchKind, RedeemError, StoreError,
};

pub(super) fn invite_id(n: u128) -> InviteId {
    InviteId::new(Uuid::from_u128(0x0195_0000_0000_7000_8000_0000_0000_0000 + n))
}

pub(super) fn invite(n: u128, uses: u32) -> NewInvite {
    NewInvite {
        id: invite_id(n),
        secret_hash: Digest::of(b"secret"),
        name: Some("kiosk".parse().unwrap()),
        uses,
        preapproved: true,
        grants: "{}".to_owned(),
        labels: Labels::default(),
        scope: InviteScope::default(),
        created_by: user("admin"),
        created_at: 1_000,
        expires_at: 5_000,
    }
}

pub(super) fn candidate(n: u128, name: &str) -> Candidate {
    Candidate {
        id: device_id(n),
        invite: invite_id(1),
        secret_hash: Digest::of(b"secret"),
        own_name: name.parse().unwrap(),
        public_key_fingerprint: format!("key {n}"),
        fingerprint_words: "maple otter".to_owned(),
        certificate_request: "PEM".to_owned(),
        ticket_hash: Digest::of(b"ticket"),
        may_come_again: false,
        policy_names: BTreeSet::new(),
        hostname: "kiosk.lab".to_owned(),
        os: "linux".to_owned(),
        platform: "linux-x86_64".to_owned(),
        address: [10, 1, 2, 3].into(),
        at: 1_000,
    }
}

/// A token for many pending devices, which choose their own names.
fn open_invite() -> NewInvite {
    let grants = r#"{"profile":"reader"}"#.to_owned();
    NewInvite { name: None, preapproved: false, grants, ..invite(1, 200) }
}

async fn enrolled(n: u128) -> Place {
    let place = Place::new().await;
    place.store.create_invite(open_invite()).await.unwrap();
    place.store.enroll_device(candidate(n, "kiosk")).await.unwrap();
    place
}

/// Returns the kinds of audit rows after those of [`enrolled`].
async fn kinds_since(place: &Place) -> Vec<String> {
    let mut kinds = place.kinds().await;
    assert_eq!(
        kinds.drain(..3).collect::<Vec<_>>(),
        ["invite.created", "invite.redeemed", "device.enrolled"]
    );
    kinds
}

#[tokio::test]
async fn names_stay_unique_however_many_enrol_at_once() {
    let place = Place::new().await;
    place.store.create_invite(open_invite()).await.unwrap();
    let mut enrolling = Vec::new();
    for n in 0..40 {
        let store = place.store.clone();
        enrolling.push(tokio::spawn(async move { store.enroll_device(candidate(n, "pi")).await }));
    }
    let mut names = BTreeSet::new();
    for one in enrolling {
        names.insert(one.await.unwrap().unwrap().device.name.to_string());
    }
    let numbered = (2..=40).map(|n| format!("pi-{n}"));
    assert_eq!(names, std::iter::once("pi".to_owned()).chain(numbered).collect());

    let long = "a".repeat(63);
    place.store.enroll_device(candidate(100, &long)).await.unwrap();
    let second = place.store.enroll_device(candidate(101, &long)).await.unwrap();
    assert_eq!(second.device.name.as_str(), format!("{}-2", "a".repeat(57)));
}

#[tokio::test]
async fn a_device_is_read_back_as_it_enrolled_and_found_by_name_and_id() {
    let place = enrolled(1).await;
    let new = candidate(1, "kiosk");
    let expected = DeviceRow {
        id: new.id,
        name: new.own_name,
        state: DeviceState::Pending,
        pending_reason: None,
        os: new.os,
        hostname: new.hostname,
        agent_version: None,
        public_key_fingerprint: new.public_key_fingerprint,
        fingerprint_words: new.fingerprint_words,
        certificate_request: new.certificate_request,
        certificate_serial: None,
        certificate_not_after: None,
        generation: 0,
        facts: None,
        ceiling: None,
        grants: open_invite().grants,
        labels: Labels::default(),
        policy_version: None,
        acknowledged_version: None,
        found: Vec::new(),
        ticket_hash: Some(new.ticket_hash),
        created_at: 1_000,
        last_seen_at: None,
    };
    let found = async |text: &str| place.store.device(text).await;
    let id = device_id(1).to_string();
    assert_eq!(found("kiosk").await, Ok(expected.clone()));
    assert_eq!(found(&id).await, Ok(expected.clone()));
    assert_eq!(found(&id[..6]).await, Ok(expected.clone()));
    for bad in ["", "kios", &id[..5], "nobody", "0198%"] {
        assert_eq!(found(bad).await, Err(StoreError::NotFound), "{bad}");
    }
    place.store.enroll_device(candidate(2, "other")).await.unwrap();
    assert_eq!(found(&id[..6]).await, Err(StoreError::Ambiguous));
    assert_eq!(place.store.devices(true).await.unwrap().len(), 2);
    assert_eq!(place.store.devices(false).await.unwrap().first(), Some(&expected));
}

#[tokio::test]
async fn a_state_changes_only_from_where_it_may() {
    let place = enrolled(1).await;
    let admin = user("admin");
    let set = async |from: &[DeviceState], to| {
        place
            .store
            .set_device_state(device_id(1), from, to, &admin, "checked", 2_000)
            .await
            .map(|row| row.state)
    };
    assert_eq!(
        set(&[DeviceState::Approved], DeviceState::Quarantined).await,
        Err(StoreError::Conflict)
    );
    assert_eq!(
        set(&[DeviceState::Pending, DeviceState::Quarantined], DeviceState::Approved).await,
        Ok(DeviceState::Approved)
    );
    assert_eq!(set(&[DeviceState::Approved], DeviceState::Revoked).await, Ok(DeviceState::Revoked));
    let missing = place
        .store
        .set_device_state(device_id(9), &[], DeviceState::Revoked, None, "", 2_000)
        .await;
    assert_eq!(missing, Err(StoreError::NotFound));
    assert_eq!(kinds_since(&place).await, ["device.approved", "device.revoked"]);
    assert_eq!(
        place.audit().await.pop().unwrap().1,
        json!({"device_id": device_id(1), "name": "kiosk", "from": "approved", "by": "admin", "reason": "checked"})
    );
}

#[tokio::test]
async fn a_revoked_key_does_not_come_back_and_frees_its_name() {
    let place = enrolled(1).await;
    let states = [DeviceState::Pending];
    place
        .store
        .set_device_state(device_id(1), &states, DeviceState::Revoked, None, "lost", 2_000)
        .await
        .unwrap();
    let again = Candidate { id: device_id(2), ..candidate(1, "kiosk") };
    assert_eq!(place.store.enroll_device(again.clone()).await, Err(RedeemError::KeyKnown));
    // It spent nothing, and a wrong secret learns nothing.
    let guess = Candidate { secret_hash: Digest::of(b"guess"), ..again };
    assert_eq!(place.store.enroll_device(guess).await, Err(RedeemError::Unknown));
    assert_eq!(kinds_since(&place).await, ["device.revoked"]);
    let other = place.store.enroll_device(candidate(3, "kiosk")).await.unwrap();
    assert_eq!(other.device.name.as_str(), "kiosk");
    assert_eq!(place.store.device("kiosk").await.unwrap().id, device_id(3));
}

#[tokio::test]
async fn a_ceiling_that_changes_is_kept_with_its_workspace_and_a_fault_is_audited() {
    let place = enrolled(1).await;
    let told = async |ceiling: &str, fault: &str| {
        place.store.record_ceiling(device_id(1), r#"{"workspace":"/srv"}"#, ceiling, fault, 5).await
    };
    assert_eq!(told("{}", "").await, Ok(()));
    assert_eq!(told("{}", "line 1: no").await, Ok(()));
    let row = place.store.device("kiosk").await.unwrap();
    assert_eq!(row.ceiling.as_deref(), Some("{}"));
    assert_eq!(row.facts.as_deref(), Some(r#"{"workspace":"/srv"}"#));
    // The device was accepted with the hello of this connection.
    assert_eq!((row.generation, row.last_seen_at), (0, Some(5)));
    assert_eq!(kinds_since(&place).await, ["device.ceiling_told", "device.ceiling_faulty"]);
    assert_eq!(
        place.audit().await.pop().unwrap().1,
        json!({"device_id": device_id(1), "fault": "line 1: no"})
    );
    let nobody = place.store.record_ceiling(device_id(9), "{}", "{}", "", 1).await;
    assert_eq!(nobody, Err(StoreError::NotFound));
}

#[tokio::test]
async fn of_a_long_ceiling_the_audit_holds_the_digest() {
    let place = enrolled(1).await;
    let long = json!({"apps": ["x".repeat(20_000)]}).to_string();
    let told = place.store.record_ceiling(device_id(1), "{}", &long, "", 5).await;
    assert_eq!(told, Ok(()));
    let after = json!({"sha256": Digest::of(long.as_bytes()), "size_bytes": long.len()});
    assert_eq!(
        place.audit().await.pop().unwrap().1,
        json!({"device_id": device_id(1), "before": null, "after": after})
    );
}

pub(super) fn greeting(generation: i64, ceiling: &str) -> Hello {
    Hello {
        facts: r#"{"os":"linux"}"#.to_owned(),
        ceiling: ceiling.to_owned(),
        agent_version: "0.1.0".to_owned(),
        trusts: None,
        generation,
        serial: "0a".to_owned(),
        since: std::time::Instant::now(),
        at: 3_000,
    }
}

async fn approve(place: &Place, n: u128) {
    let (from, to) = ([DeviceState::Pending], DeviceState::Approved);
    place.store.set_device_state(device_id(n), &from, to, &user("admin"), "", 2_000).await.unwrap();
}

#[tokio::test]
async fn a_greeting_that_was_late_is_no_copy() {
    let place = enrolled(1).await;
    approve(&place, 1).await;
    // Of two connections of one device, the newer one's hello arrives first.
    let late = greeting(4, "{}");
    assert_eq!(place.store.record_hello(device_id(1), greeting(5, "{}")).await, Ok(()));
    let hello = async |hello| place.store.record_hello(device_id(1), hello).await;
    assert_eq!(hello(late).await, Err(HelloError::Overtaken));
    // A new connection with this count comes from a copy.
    assert_eq!(hello(greeting(4, "{}")).await, Err(HelloError::GenerationBackwards));
}

#[tokio::test]
async fn a_device_that_an_admin_lets_out_of_quarantine_counts_anew_and_its_copy_is_betrayed_again()
{
    let place = enrolled(1).await;
    let admin = user("admin");
    let hello =
        async |generation| place.store.record_hello(device_id(1), greeting(generation, "{}")).await;
    let set = async |from, to| {
        place.store.set_device_state(device_id(1), &[from], to, &admin, "", 2_000).await.unwrap()
    };
    let (approved, quarantined) = (DeviceState::Approved, DeviceState::Quarantined);
    assert_eq!(hello(1).await, Err(HelloError::Held(DeviceState::Pending)));
    approve(&place, 1).await;
    // The copy has the highest possible count.
    assert_eq!(hello(i64::MAX).await, Ok(()));
    assert_eq!(hello(41).await, Err(HelloError::GenerationBackwards));
    assert_eq!(set(approved, quarantined).await.generation, i64::MAX);
    assert_eq!(hello(42).await, Err(HelloError::Held(quarantined)));
    assert_eq!(place.store.forgot_at(device_id(1)).await, Ok(None));
    assert_eq!(set(quarantined, approved).await.generation, 0);
    assert_eq!(place.store.forgot_at(device_id(1)).await, Ok(Some(2_000)));
    assert_eq!(hello(43).await, Ok(()));
    assert_eq!(hello(44).await, Ok(()));
    assert_eq!(hello(i64::MAX).await, Ok(()));
    assert_eq!(hello(45).await, Err(HelloError::GenerationBackwards));
}

#[tokio::test]
async fn a_generation_that_does_not_grow_betrays_a_copy() {
    let place = enrolled(1).await;
    let hello = async |generation, ceiling: &str| {
        place.store.record_hello(device_id(1), greeting(generation, ceiling)).await
    };
    approve(&place, 1).await;
    assert_eq!(hello(5, "{}").await, Ok(()));
    assert_eq!(hello(5, "{}").await, Err(HelloError::GenerationBackwards));
    assert_eq!(hello(4, "{}").await, Err(HelloError::GenerationBackwards));
    assert_eq!(hello(6, "{}").await, Ok(()));
    assert_eq!(hello(7, r#"{"read_only":true}"#).await, Ok(()));
    let row = place.store.device("kiosk").await.unwrap();
    assert_eq!(row.generation, 7);
    assert_eq!(row.facts.as_deref(), Some(r#"{"os":"linux"}"#));
    assert_eq!(row.ceiling.as_deref(), Some(r#"{"read_only":true}"#));
    assert_eq!(row.agent_version.as_deref(), Some("0.1.0"));
    assert_eq!((row.ticket_hash, row.last_seen_at), (None, Some(3_000)));
    let kinds = ["device.approved", "device.ceiling_told", "device.ceiling_told"];
    assert_eq!(kinds_since(&place).await, kinds);
    assert_eq!(
        place.audit().await.pop().unwrap().1,
        json!({"device_id": device_id(1), "before": {}, "after": {"read_only": true}})
    );
    let nobody = place.store.record_hello(device_id(9), greeting(1, "{}")).await;
    assert_eq!(nobody, Err(HelloError::Store(StoreError::NotFound)));
}

#[tokio::test]
async fn grants_are_replaced_only_where_the_version_is_the_one_that_was_read() {
    let place = enrolled(1).await;
    let admin = user("admin");
    let set = async |grants: &str, version: &str, expected: Option<&str>| {
        place.store.set_grants(device_id(1), grants, version, expected, &admin, 2_000).await
    };
    assert_eq!(set(r#"{"read_only":true}"#, "v1", Some("v0")).await, Ok(()));
    assert_eq!(set("{}", "v2", Some("v0")).await, Err(StoreError::Conflict));
    assert_eq!(set("{}", "v2", Some("v1")).await, Ok(()));
    assert_eq!(set(r#"{"apps":[]}"#, "v3", None).await, Ok(()));
    let found = PolicyMismatch {
        kind: PolicyMismatchKind::Link,
        entry: "~/x".to_owned(),
        found: "/srv/x".to_owned(),
    };
    let acknowledge = async |found: &[PolicyMismatch]| {
        place.store.acknowledge_policy(device_id(1), "v3", found, 2_500).await.unwrap();
        place.store.device("kiosk").await.unwrap().found
    };
    assert_eq!(acknowledge(std::slice::from_ref(&found)).await, [found]);
    assert_eq!(acknowledge(&[]).await, []);
    assert_eq!(acknowledge(&[]).await, []);
    place.store.touch_device(device_id(1), 2_600).await.unwrap();
    let row = place.store.device("kiosk").await.unwrap();
    assert_eq!(row.grants, r#"{"apps":[]}"#);
    assert_eq!(row.policy_version.as_deref(), Some("v3"));
    assert_eq!(row.acknowledged_version.as_deref(), Some("v3"));
    assert_eq!(row.last_seen_at, Some(2_600));
    let (kind, body) = place.audit().await.remove(3);
    assert_eq!(kind, "device.permissions_set");
    assert_eq!(
        body,
        json!({
            "device_id": device_id(1), "by": "admin", "version": "v1",
            "before": {"profile": "reader"}, "after": {"read_only": true}
        })
    );
    let nobody = StoreError::NotFound;
    assert_eq!(place.store.touch_device(device_id(9), 1).await, Err(nobody));
    assert_eq!(place.store.acknowledge_policy(device_id(9), "v", &[], 1).await, Err(nobody));
}

#[tokio::test]
async fn a_device_that_forgot_may_have_forgotten_what_was_sent_before_by_whatever_clock() {
    let place = enrolled(1).await;
    let (store, kiosk) = (&place.store, device_id(1));
    assert_eq!(store.forgot_at(kiosk).await, Ok(None));
    store.device_forgot(kiosk, 5_000).await.unwrap();
    assert_eq!(store.forgot_at(kiosk).await, Ok(Some(5_000)));
    // The clock was ahead when this call was sent, and the time never decreases.
    let call = NewCall { admitted_at: Some(9_000), state: CallState::Dispatched, ..call(1) };
    store.open_call(call).await.unwrap();
    store.device_forgot(kiosk, 6_000).await.unwrap();
    assert_eq!(store.forgot_at(kiosk).await, Ok(Some(9_000)));
    store.device_forgot(kiosk, 7_000).await.unwrap();
    assert_eq!(store.forgot_at(kiosk).await, Ok(Some(9_000)));
}
