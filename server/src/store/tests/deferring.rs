//! Calls that change nothing: committed together with their end, and never after it.

use std::time::Duration;

use super::*;
use crate::store::StoreError;
use crate::store::db::{Durability, sql};

/// A call that is sent at once.
fn read(n: u128) -> NewCall {
    NewCall { state: CallState::Dispatched, admitted_at: Some(1_000), ..call(n) }
}

/// Returns how many calls somebody else finds in the file.
async fn committed(place: &Place) -> i64 {
    let mut raw = place.raw().await;
    let (calls,) = sqlx::query_as("SELECT COUNT(*) FROM calls").fetch_one(&mut raw).await.unwrap();
    raw.close().await.unwrap();
    calls
}

#[tokio::test]
async fn a_call_that_changes_nothing_is_committed_with_its_end() {
    let place = Place::new().await;
    let before = place.store.db().crossings();
    place.store.open_dispatched_call(read(1)).await.unwrap();
    assert!(place.store.is_at_rest());
    let end = close(1, CallState::Succeeded);
    assert_eq!(place.store.close_call(end, ClosedBy::Device).await, Ok(true));
    assert_eq!(committed(&place).await, 1);
    let (commands, commits) = place.store.db().crossings();
    assert_eq!((commands - before.0, commits - before.1), (1, 1));
    let row = place.store.call(call_id(1)).await.unwrap();
    assert_eq!(row.state, CallState::Succeeded);
    assert_eq!(row.history.len(), 3);
    assert_eq!(place.kinds().await, ["call.opened", "call.closed"]);
    place.audited().await;
}

#[tokio::test]
async fn what_nothing_follows_is_committed_after_a_short_time() {
    let place = Place::new().await;
    place.store.open_dispatched_call(read(1)).await.unwrap();
    let waits = async {
        while committed(&place).await == 0 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), waits).await.unwrap();
    assert_eq!(place.kinds().await, ["call.opened"]);
}

#[tokio::test]
async fn whoever_reads_calls_finds_those_that_wait() {
    let place = Place::new().await;
    let store = &place.store;
    for n in 1..=5 {
        store.open_dispatched_call(read(n)).await.unwrap();
        let found = match n {
            1 => store.call(call_id(n)).await.is_ok(),
            2 => store.call_device(call_id(n)).await == Ok(Some(device_id(1))),
            3 => store.open_calls_of_device(device_id(1)).await.unwrap().len() == 3,
            4 => store.newest_calls(None, None, false, false, 9).await.unwrap().len() == 4,
            _ => {
                let (ann, device) = (user("ann"), device_id(1));
                let counted = store.admitted_calls(&ann, device, 0, call_id(9), 9, 0).await;
                counted.unwrap().len() == 5 && store.audit_head().await.unwrap().seq == 5
            }
        };
        assert!(found, "{n}");
    }
}

#[tokio::test]
async fn what_has_effects_or_a_key_is_stored_before_it_is_sent() {
    let place = Place::new().await;
    let keyed = NewCall { idempotency_key: Some("k".to_owned()), ..read(2) };
    place.store.open_dispatched_call(NewCall { has_effects: true, ..read(1) }).await.unwrap();
    place.store.open_dispatched_call(keyed).await.unwrap();
    assert_eq!(committed(&place).await, 2);
}

#[tokio::test]
async fn an_opening_that_fails_is_reported_with_the_end() {
    let place = Place::new().await;
    place.store.open_call(read(1)).await.unwrap();
    let end = || close(1, CallState::Succeeded);
    assert_eq!(place.store.close_call(end(), ClosedBy::Device).await, Ok(true));
    place.store.open_dispatched_call(read(1)).await.unwrap();
    let again = place.store.close_call(end(), ClosedBy::Device).await;
    assert_eq!(again, Err(StoreError::Conflict));
    assert_eq!(place.audited().await, 2);
}

#[tokio::test]
async fn after_a_commit_that_failed_a_read_is_stored_before_it_is_sent() {
    let place = Place::new().await;
    let full = place.store.write(Durability::Commit, |tx| {
        Box::pin(async move {
            tx.rows(sql("PRAGMA max_page_count = 1")).await?;
            Ok(())
        })
    });
    full.await.unwrap();
    let heavy = NewCall { arguments: vec![b' '; 200_000], ..read(1) };
    place.store.open_dispatched_call(heavy).await.unwrap();
    let end = close(1, CallState::Succeeded);
    assert_eq!(place.store.close_call(end, ClosedBy::Device).await, Err(StoreError::Full));
    // The limit belonged to the connection, and the writer opens another one.
    place.store.open_dispatched_call(read(2)).await.unwrap();
    assert_eq!(committed(&place).await, 1);
    assert_eq!(place.audited().await, 1);
}

#[tokio::test]
async fn closing_commits_what_waits_for_more() {
    let place = Place::new().await;
    place.store.open_dispatched_call(read(1)).await.unwrap();
    let place = place.reopened().await;
    assert_eq!(place.kinds().await, ["call.opened"]);
}

/// Prints what calls cost: commands to the writer's thread, commits, and bytes of the write-ahead log.
#[tokio::test]
async fn a_call_takes_few_commands_and_commits() {
    let place = Place::new().await;
    let store = &place.store;
    // The first commit sets what later ones find set.
    store.open_call(call(1)).await.unwrap();
    let mut before = (0, 0, 0);
    let mut cost = async |kind: &str, expected: Option<(u64, u64)>| {
        let (commands, commits) = store.db().crossings();
        let log = std::fs::metadata(place.file().with_extension("db-wal")).unwrap().len();
        let cost = (commands - before.0, commits - before.1);
        if let Some(expected) = expected {
            eprintln!("{kind}: {cost:?} commands and commits, {} bytes", log - before.2);
            assert_eq!(cost, expected, "{kind}");
        }
        before = (commands, commits, log);
    };
    cost("", None).await;
    store.open_dispatched_call(read(10)).await.unwrap();
    store.close_call(close(10, CallState::Succeeded), ClosedBy::Device).await.unwrap();
    cost("a read", Some((1, 1))).await;
    store.open_and_close_call(call(11), close(11, CallState::Denied)).await.unwrap();
    cost("a denied read", Some((1, 1))).await;
    store.open_dispatched_call(NewCall { has_effects: true, ..read(12) }).await.unwrap();
    store.close_call(close(12, CallState::Succeeded), ClosedBy::Device).await.unwrap();
    cost("a call with effects", Some((2, 2))).await;
    store.open_call(NewCall { has_effects: true, ..call(13) }).await.unwrap();
    store.ask(question(13), CommittedWith::default()).await.unwrap();
    cost("an asked call until it waits", Some((2, 2))).await;
    let call = Some(NewCall { has_effects: true, ..call(14) });
    store.ask(question(14), CommittedWith { call, preview: None }).await.unwrap();
    cost("an asked call, stored as it waits", Some((1, 1))).await;
}
