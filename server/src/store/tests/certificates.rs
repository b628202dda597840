//! Certificates and the authorities that signed them.

use std::collections::BTreeSet;

use orion_domain::id::InviteId;
use orion_policy::Labels;

use super::*;
use crate::store::{
    AuthorityRow, Candidate, CertificateHolder, DeviceState, Hello, ImportedAuthorities,
    InviteScope, NewInvite, PendingReason, StoreError, holders_of, taken_in,
};

/// A store with this many approved devices, `pi`, `pi-2`, …
async fn approved(devices: u128) -> Place {
    let place = Place::new().await;
    let invite = InviteId::new(Uuid::from_u128(0x0195_0000_0000_7000_8000_0000_0000_0001));
    let new = NewInvite {
        id: invite,
        secret_hash: Digest::of(b"secret"),
        name: None,
        uses: 100,
        preapproved: true,
        grants: "{}".to_owned(),
        labels: Labels::default(),
        scope: InviteScope::default(),
        created_by: user("admin"),
        created_at: 1_000,
        expires_at: 5_000,
    };
    place.store.create_invite(new).await.unwrap();
    for n in 1..=devices {
        enroll(&place, n).await;
    }
    place
}

/// Enrols device `n` with the token.
async fn enroll(place: &Place, n: u128) -> DeviceState {
    let candidate = Candidate {
        id: device_id(n),
        invite: InviteId::new(Uuid::from_u128(0x0195_0000_0000_7000_8000_0000_0000_0001)),
        secret_hash: Digest::of(b"secret"),
        own_name: "pi".parse().unwrap(),
        public_key_fingerprint: format!("key {n}"),
        fingerprint_words: String::new(),
        certificate_request: String::new(),
        ticket_hash: Digest::of(b"ticket"),
        may_come_again: false,
        policy_names: BTreeSet::new(),
        hostname: String::new(),
        os: String::new(),
        platform: String::new(),
        address: [127, 0, 0, 1].into(),
        at: 1_000,
    };
    place.store.enroll_device(candidate).await.unwrap().device.state
}

async fn set(place: &Place, n: u128, to: DeviceState) {
    let from = [DeviceState::Approved, DeviceState::Quarantined];
    place.store.set_device_state(device_id(n), &from, to, None, "", 5_000).await.unwrap();
}

async fn shown(place: &Place, n: u128, serial: &str, generation: i64) {
    shown_trusting(place, n, serial, generation, None).await;
}

async fn shown_trusting(
    place: &Place,
    n: u128,
    serial: &str,
    generation: i64,
    trusts: Option<&str>,
) {
    let hello = Hello {
        facts: "{}".to_owned(),
        ceiling: "{}".to_owned(),
        agent_version: String::new(),
        trusts: trusts.map(str::to_owned),
        generation,
        serial: serial.to_owned(),
        since: std::time::Instant::now(),
        at: 6_000,
    };
    place.store.record_hello(device_id(n), hello).await.unwrap();
}

#[tokio::test]
async fn the_certificates_of_a_revoked_device_are_listed() {
    let place = approved(1).await;
    let store = &place.store;
    store.record_certificate(device_id(1), "0a", "old", 3_000, 2_000).await.unwrap();
    store.record_certificate(device_id(1), "0b", "old", 9_000, 2_500).await.unwrap();
    assert_eq!(store.certificates_of(device_id(1)).await.unwrap(), ["0a", "0b"]);
    assert_eq!(store.revoked_serials().await.unwrap(), Vec::<String>::new());
    // Expired certificates are deleted.
    store.record_certificate(device_id(1), "0c", "old", 12_000, 4_000).await.unwrap();
    let row = store.device("pi").await.unwrap();
    assert_eq!(row.certificate_serial.as_deref(), Some("0c"));
    assert_eq!(row.certificate_not_after, Some(12_000));
    let twice = store.record_certificate(device_id(1), "0c", "old", 9_000, 4_000).await;
    assert_eq!(twice, Err(StoreError::Conflict));
    set(&place, 1, DeviceState::Revoked).await;
    assert_eq!(store.revoked_serials().await.unwrap(), ["0b", "0c"]);
    let nobody = store.record_certificate(device_id(9), "0d", "old", 1, 1).await;
    assert_eq!(nobody, Err(StoreError::NotFound));
}

#[tokio::test]
async fn no_certificate_is_given_to_a_device_that_was_taken_away_meanwhile() {
    let place = approved(1).await;
    for state in [DeviceState::Quarantined, DeviceState::Revoked] {
        set(&place, 1, state).await;
        let late = place.store.record_certificate(device_id(1), "0a", "old", 9_000, 5_000).await;
        assert_eq!(late, Err(StoreError::Conflict), "{state:?}");
    }
    assert_eq!(place.store.certificates_of(device_id(1)).await.unwrap(), Vec::<String>::new());
}

#[tokio::test]
async fn a_token_that_a_device_in_quarantine_came_with_lets_nobody_in_unseen() {
    let place = approved(1).await;
    assert_eq!(enroll(&place, 2).await, DeviceState::Approved);
    set(&place, 1, DeviceState::Quarantined).await;
    assert_eq!(enroll(&place, 3).await, DeviceState::Pending);
    let waiting = place.store.device(&device_id(3).to_string()).await.unwrap();
    assert_eq!(waiting.pending_reason, Some(PendingReason::CompromisedToken));
    // After an admin's decision the token approves devices again.
    set(&place, 1, DeviceState::Approved).await;
    assert_eq!(enroll(&place, 4).await, DeviceState::Approved);
    set(&place, 1, DeviceState::Revoked).await;
    assert_eq!(enroll(&place, 5).await, DeviceState::Pending);
}

#[tokio::test]
async fn who_holds_certificates_of_an_authority_is_known_until_they_show_one_of_another() {
    let place = approved(5).await;
    let store = &place.store;
    let issue = async |n, serial: &str, authority: &str, not_after| {
        store.record_certificate(device_id(n), serial, authority, not_after, 5_000).await.unwrap();
    };
    // One older than the column; one that has expired; one of a revoked device.
    issue(1, "1a", "", 20_000).await;
    issue(2, "2a", "old", 6_500).await;
    issue(3, "3a", "old", 20_000).await;
    issue(4, "4a", "old", 30_000).await;
    issue(5, "5a", "new", 20_000).await;
    set(&place, 3, DeviceState::Revoked).await;
    let held = async || holders_of(&place.file(), "old", "new", 7_000).await.unwrap();
    let holder = |name: &str, not_after| CertificateHolder {
        name: name.to_owned(),
        not_after: Some(not_after),
    };
    assert_eq!(held().await, [holder("pi", 20_000), holder("pi-4", 30_000)]);
    // An issued certificate may not have arrived; a presented one has.
    issue(4, "4b", "new", 40_000).await;
    shown(&place, 4, "4a", 1).await;
    assert_eq!(held().await, [holder("pi", 20_000), holder("pi-4", 30_000)]);
    shown(&place, 4, "4b", 2).await;
    assert_eq!(held().await, [holder("pi", 20_000)]);
}

#[tokio::test]
async fn who_waits_with_a_token_of_before_would_be_cut_off_as_well() {
    let place = approved(1).await;
    set(&place, 1, DeviceState::Quarantined).await;
    assert_eq!(enroll(&place, 2).await, DeviceState::Pending);
    let held = async || holders_of(&place.file(), "old", "new", 7_000).await.unwrap();
    let waits = [CertificateHolder { name: "pi-2".to_owned(), not_after: None }];
    assert_eq!(held().await, waits, "no backend has taken the new one in");
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    place.store.record_authorities(names(&["new", "old"]), 1_001).await.unwrap();
    assert_eq!(held().await, waits);
    // A token that was made while both were trusted is valid with the new one.
    place.store.record_authorities(names(&["old"]), 1_002).await.unwrap();
    tamper(&place, "UPDATE authorities SET trusted_at = 1000, retired_at = NULL").await;
    assert_eq!(held().await, []);
}

#[tokio::test]
async fn who_trusts_an_authority_is_known_by_their_own_word_or_else_by_their_certificates() {
    let place = approved(3).await;
    let store = &place.store;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    store.record_authorities(names(&["old"]), 500).await.unwrap();
    store.record_certificate(device_id(1), "1a", "old", 20_000, 5_000).await.unwrap();
    store.record_certificate(device_id(3), "3a", "old", 20_000, 6_000).await.unwrap();
    store.record_authorities(names(&["new", "old"]), 6_000).await.unwrap();
    shown_trusting(&place, 1, "1a", 1, Some("old new")).await;
    shown_trusting(&place, 2, "2a", 1, Some("new")).await;
    store.record_authorities(names(&["new"]), 8_000).await.unwrap();
    let row = |fingerprint: &str, trusted_at, retired_at, trusted_by: &[&str]| AuthorityRow {
        fingerprint: fingerprint.to_owned(),
        trusted_at,
        retired_at,
        trusted_by: names(trusted_by),
    };
    let known = ImportedAuthorities {
        authorities: vec![
            row("new", 6_000, None, &["pi", "pi-2", "pi-3"]),
            row("old", 500, Some(8_000), &["pi", "pi-3"]),
        ],
        lifetime: 15_000,
    };
    assert_eq!(taken_in(&place.file()).await, Ok(known));
    // After a renewal the device reports it.
    shown_trusting(&place, 1, "1a", 2, Some("new")).await;
    set(&place, 3, DeviceState::Revoked).await;
    let known = taken_in(&place.file()).await.unwrap();
    assert_eq!(known.authorities[1], row("old", 500, Some(8_000), &[]));
}

#[tokio::test]
async fn which_authorities_count_is_audited_where_it_changes() {
    let place = approved(1).await;
    place.store.record_certificate(device_id(1), "1a", "", 20_000, 5_000).await.unwrap();
    let record = async |names: &[&str]| {
        let before = place.audit().await.len();
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        place.store.record_authorities(names, 5_000).await.unwrap();
        place.audit().await.split_off(before)
    };
    let trusted = |name: &str, signs: bool| {
        ("authority.trusted".to_owned(), json!({"fingerprint": name, "signs": signs}))
    };
    let retired = |name: &str| ("authority.retired".to_owned(), json!({"fingerprint": name}));
    assert_eq!(record(&["a"]).await, [trusted("a", true)]);
    assert_eq!(record(&["a"]).await, []);
    assert_eq!(record(&["b", "a"]).await, [trusted("b", true)]);
    assert_eq!(record(&["b"]).await, [retired("a")]);
    // As after a restored backup.
    assert_eq!(record(&["b", "a"]).await, [trusted("a", false)]);
    // Certificates older than the column were assigned to the oldest authority.
    assert_eq!(holders_of(&place.file(), "a", "b", 7_000).await.unwrap().len(), 1);
}
