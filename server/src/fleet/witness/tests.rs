//! Problems of chains are audited once, and each kind by itself.

use std::time::Duration;

use orion_domain::Digest;
use uuid::Uuid;

use super::*;
use crate::fleet::witness::unknown_call::MAX_UNKNOWN_CALLS;
use crate::store::Witness;
use orion_domain::{CallId, CallState};

fn head(seq: i64) -> AuditHead {
    AuditHead { seq, hash: Digest::of(&seq.to_be_bytes()) }
}

#[test]
fn what_an_older_connection_still_says_accuses_nobody_and_what_a_newer_one_says_does() {
    let witnesses = Witnesses::default();
    let device = DeviceId::new(Uuid::from_u128(1));
    let older = Instant::now();
    let newer = older + Duration::from_nanos(1);
    let problem =
        |since, seq| witnesses.compare(device, since, head(seq)).map(|(_, problem)| problem);
    assert_eq!(problem(older, 100), None);
    // A result on the older connection arrives before the hello of the newer one, whichever reports the
    // higher head.
    assert_eq!(problem(older, 101), None);
    assert_eq!((problem(newer, 100), problem(newer, 102)), (None, None));
    assert_eq!((problem(older, 101), problem(newer, 103)), (None, None));
    let forked = AuditHead { seq: 103, hash: Digest::ZERO };
    assert_eq!(witnesses.compare(device, older, forked), None);
    assert_eq!(witnesses.of(device).unwrap().head, head(103));
    // On the same connection, or on one that began later, it is a break.
    let broken =
        |from: i64, to: i64| Some(format!("its chain ran backwards, from entry {from} to {to}"));
    assert_eq!(problem(newer, 102), broken(103, 102));
    let later = Instant::now() + Duration::from_secs(1);
    assert_eq!(problem(later, 50), broken(102, 50));
    assert_eq!(problem(later, 51), None);
    let (before, forked) =
        witnesses.compare(device, later, AuditHead { seq: 51, hash: Digest::ZERO }).unwrap();
    assert_eq!((before.head, forked.contains("another entry 51")), (head(51), true));
}

#[test]
fn what_a_device_makes_up_of_one_kind_keeps_nothing_of_another_out_of_the_audit() {
    let (witnesses, begin) = (Witnesses::default(), Instant::now());
    let device = |n| DeviceId::new(Uuid::from_u128(n));
    let may_report = |n, finding, seconds| {
        witnesses.may_report(device(n), finding, begin + Duration::from_secs(seconds))
    };
    // Repeated reports, each less than a minute after the one before.
    let rows = (0..600).filter(|second| may_report(1, Finding::OtherHistory, *second)).count();
    assert_eq!(rows, 10, "one each minute, and none is put off by those left out");
    assert!(may_report(1, Finding::Broken, 599) && !may_report(1, Finding::Broken, 600));
    assert!(may_report(2, Finding::OtherHistory, 599));
}

/// Returns the kinds of the audit rows, oldest first.
async fn kinds(store: &Store) -> Vec<String> {
    let rows = store.audit_export(0, 10_000).await.unwrap();
    rows.into_iter().map(|row| row.kind).collect()
}

#[tokio::test]
async fn a_break_stands_in_the_audit_however_much_of_another_kind_is_made_up_before() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("orion.db")).await.unwrap();
    let (witnesses, begin) = (Witnesses::default(), Instant::now());
    let device = DeviceId::new(Uuid::from_u128(1));
    // A repeated head is audited once, and invented ones once a minute.
    for seq in [7, 7, 8, 9] {
        witnesses.received_backend_head(&store, device, head(seq)).await.unwrap();
    }
    for seq in [50, 49, 48] {
        witnesses.received(&store, device, begin, head(seq)).await.unwrap();
    }
    assert_eq!(kinds(&store).await, ["device.other_history", "device.chain_broken"]);
    assert!(witnesses.of(device).unwrap().problem.contains("from entry 49 to 48"));
    store.close().await;
}

#[tokio::test]
async fn of_calls_that_are_not_on_record_so_many_are_told_and_once_that_there_are_more() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(&folder.path().join("orion.db")).await.unwrap();
    let witnesses = Witnesses::default();
    let device = |n| DeviceId::new(Uuid::from_u128(n));
    let witness = Witness { entry: 1, seq: 1, hash: Digest::ZERO };
    for n in 0..u128::from(MAX_UNKNOWN_CALLS) + 5 {
        let call = CallId::new(Uuid::from_u128(n));
        let state = CallState::Succeeded;
        witnesses.report_unknown(&store, device(1), call, state, witness).await.unwrap();
    }
    let call = CallId::new(Uuid::from_u128(1000));
    witnesses.report_unknown(&store, device(2), call, CallState::Succeeded, witness).await.unwrap();
    let kinds = kinds(&store).await;
    let of = |kind: &str| kinds.iter().filter(|one| *one == kind).count();
    assert_eq!((of("device.unknown_call"), of("device.more_unknown_calls")), (101, 1));
    store.close().await;
}
