//! The audit log: what its rows hold, and that every change to them is detected.

use orion_domain::audit::Break;
use rstest::rstest;

use super::*;
use crate::store::{StoreError, verify_file};

/// An audit log of five rows.
async fn five() -> Place {
    let place = Place::new().await;
    for n in 1..=5 {
        place.store.open_call(call(n)).await.unwrap();
    }
    place
}

async fn broken(place: &Place) -> Break {
    match place.store.verify_audit(None).await.unwrap() {
        AuditVerdict::Broken { broken, .. } => broken,
        AuditVerdict::Whole { .. } => panic!("nothing was found"),
    }
}

#[tokio::test]
async fn following_the_chain_takes_no_reader_from_others() {
    let place = Place::new().await;
    place.store.open_call(call(1)).await.unwrap();
    let mut readers = Vec::new();
    for _ in 0..crate::store::db::READERS {
        readers.push(place.store.db().reads().acquire().await);
    }
    assert_eq!(place.audited().await, 1);
    drop(readers);
}

#[tokio::test]
async fn a_whole_chain_is_said_to_be_whole_online_and_off() {
    let place = five().await;
    let head = place.store.audit_head().await.unwrap();
    let whole = AuditVerdict::Whole { rows: 5, head, checkpoints: 0 };
    assert_eq!(place.store.verify_audit(None).await, Ok(whole.clone()));
    // It works while a store is open, and after it is closed.
    assert_eq!(verify_file(&place.file(), None).await, Ok(whole.clone()));
    place.store.close().await;
    assert_eq!(verify_file(&place.file(), None).await, Ok(whole));
    let nothing = verify_file(&place.dir.path().join("none.db"), None).await;
    assert_eq!(nothing, Err(StoreError::Unavailable));
}

#[rstest]
#[case::at("UPDATE audit SET at = at + 1 WHERE seq = 3", Break::Changed { seq: 3 })]
#[case::kind("UPDATE audit SET kind = 'call.Opened' WHERE seq = 3", Break::Changed { seq: 3 })]
#[case::call_id(
    "UPDATE audit SET call_id = substr(call_id, 1, 35) || 'f' WHERE seq = 3",
    Break::Changed { seq: 3 }
)]
#[case::body(
    "UPDATE audit SET body = replace(body, '\"ann\"', '\"bnn\"') WHERE seq = 3",
    Break::Changed { seq: 3 }
)]
#[case::body_that_is_no_text(
    "UPDATE audit SET body = CAST(x'7bff7d' AS TEXT) WHERE seq = 3",
    Break::Changed { seq: 3 }
)]
#[case::previous_hash(
    "UPDATE audit SET prev_hash = CAST(x'00' || substr(prev_hash, 2) AS BLOB) WHERE seq = 3",
    Break::Changed { seq: 3 }
)]
#[case::hash(
    "UPDATE audit SET hash = CAST(x'00' || substr(hash, 2) AS BLOB) WHERE seq = 3",
    Break::Changed { seq: 3 }
)]
#[case::hash_too_short("UPDATE audit SET hash = x'00' WHERE seq = 3", Break::Changed { seq: 3 })]
#[case::seq("UPDATE audit SET seq = 9 WHERE seq = 3", Break::Unlinked { seq: 4 })]
#[case::seq_below("UPDATE audit SET seq = -3 WHERE seq = 3", Break::Changed { seq: -3 })]
#[case::removed("DELETE FROM audit WHERE seq = 3", Break::Unlinked { seq: 4 })]
#[case::swapped(
    "UPDATE audit SET seq = 99 WHERE seq = 3; UPDATE audit SET seq = 3 WHERE seq = 4; \
     UPDATE audit SET seq = 4 WHERE seq = 99",
    Break::Changed { seq: 3 }
)]
#[case::last_row("DELETE FROM audit WHERE seq = 5", Break::Head { found: 4, recorded: 5 })]
#[case::every_row("DELETE FROM audit", Break::Head { found: 0, recorded: 5 })]
#[case::head("UPDATE audit_head SET seq = 4", Break::Head { found: 5, recorded: 4 })]
#[case::no_head("DELETE FROM audit_head", Break::Head { found: 5, recorded: 0 })]
#[tokio::test]
async fn every_edit_is_found_and_named(#[case] edit: &'static str, #[case] expected: Break) {
    let place = five().await;
    tamper(&place, edit).await;
    assert_eq!(broken(&place).await, expected);
    place.store.close().await;
    let offline = verify_file(&place.file(), None).await.unwrap();
    assert!(matches!(offline, AuditVerdict::Broken { broken, .. } if broken == expected));
}

#[tokio::test]
async fn rows_written_after_a_cut_do_not_hide_it() {
    let place = five().await;
    tamper(&place, "DELETE FROM audit WHERE seq = 5").await;
    let place = place.reopened().await;
    place.store.open_call(call(6)).await.unwrap();
    assert_eq!(broken(&place).await, Break::Unlinked { seq: 6 });
}

#[tokio::test]
async fn a_cut_under_a_running_store_is_not_followed() {
    let place = five().await;
    let cut = "DELETE FROM audit WHERE seq = 5; \
        UPDATE audit_head SET seq = 4, hash = (SELECT hash FROM audit WHERE seq = 4)";
    tamper(&place, cut).await;
    place.store.open_call(call(6)).await.unwrap();
    place.store.open_call(call(7)).await.unwrap();
    assert_eq!(broken(&place).await, Break::Unlinked { seq: 6 });
}

#[tokio::test]
async fn a_chain_longer_than_a_page_is_followed_to_its_end() {
    let place = Place::new().await;
    let mut writing = Vec::new();
    for n in 0..5_000 {
        let store = place.store.clone();
        writing.push(tokio::spawn(async move { store.open_call(call(n)).await }));
        if writing.len() == 500 {
            for one in writing.drain(..) {
                one.await.unwrap().unwrap();
            }
        }
    }
    assert_eq!(place.audited().await, 5_000);
    tamper(&place, "UPDATE audit SET at = 0 WHERE seq = 4500").await;
    assert_eq!(broken(&place).await, Break::Changed { seq: 4_500 });
}

#[tokio::test]
async fn rows_are_listed_newest_first_and_exported_oldest_first() {
    let place = five().await;
    assert!(place.store.close_call(close(2, CallState::Failed), ClosedBy::Backend).await.unwrap());
    let listed = async |limit, before, call: Option<&str>| {
        let rows = place.store.audit_rows(limit, before, call).await.unwrap();
        rows.into_iter().map(|row| row.seq).collect::<Vec<_>>()
    };
    assert_eq!(listed(3, None, None).await, [6, 5, 4]);
    assert_eq!(listed(50, Some(4), None).await, [3, 2, 1]);
    assert_eq!(listed(50, None, Some(&call_id(2).to_string())).await, [6, 2]);
    assert_eq!(listed(50, Some(6), Some(&call_id(2).to_string())).await, [2]);
    assert_eq!(listed(2, None, Some("0199")).await, [6, 5]);
    let no_id = place.store.audit_rows(1, None, Some("%")).await;
    assert_eq!(no_id, Err(StoreError::NotFound));
    let exported = place.store.audit_export(2, 3).await.unwrap();
    assert_eq!(exported.iter().map(|row| row.seq).collect::<Vec<_>>(), [3, 4, 5]);
    assert_eq!(exported.last().unwrap().call_id, call_id(5).to_string());
}

#[tokio::test]
async fn the_rows_of_a_call_hold_what_was_asked_and_what_became_of_it() {
    let place = Place::new().await;
    let new = NewCall { conversation: Some(conversation_id(1)), ..call(1) };
    let digest = new.arguments_digest;
    place.store.open_call(new).await.unwrap();
    assert!(place.store.advance_call(call_id(1), CallState::Dispatched, 1_100).await.unwrap());
    assert!(
        place.store.close_call(close(1, CallState::Succeeded), ClosedBy::Backend).await.unwrap()
    );
    assert_eq!(
        place.audit().await,
        [
            (
                "call.opened".to_owned(),
                json!({
                    "user": "ann", "role": "operator", "conversation": conversation_id(1),
                    "device": "kiosk", "device_id": device_id(1), "tool": "read_file",
                    "arguments": {"path": "/home/ann/x"}, "arguments_digest": digest,
                    "touches": ["read /home/ann/x"], "touches_count": 1, "decision": "allow",
                    "rule": "grants: /home/ann", "policy_version": "v1", "risk": "low",
                    "has_effects": false, "dry_run": false, "recovered": false,
                    "idempotency_key": null, "deadline_at": 61_000
                })
            ),
            (
                "call.closed".to_owned(),
                json!({
                    "state": "succeeded", "code": null,
                    "result_digest": Digest::of(br#"{"success":true}"#), "result_bytes": 16,
                    "duration_us": 250,
                    "history": [
                        {"state": "received", "at": 1_000},
                        {"state": "dispatched", "at": 1_100},
                        {"state": "succeeded", "at": 2_000}
                    ]
                })
            ),
        ]
    );
}

#[tokio::test]
async fn what_is_too_long_is_recorded_by_digest_and_beginning() {
    let place = Place::new().await;
    let long = CanonicalArguments::from_value(&json!({ "text": "é".repeat(5_000) }));
    place
        .store
        .open_call(NewCall {
            arguments: long.as_bytes().to_vec(),
            arguments_digest: long.digest(),
            tool: "x".repeat(5_000),
            touches: vec!["t".to_owned(); 100],
            ..call(1)
        })
        .await
        .unwrap();
    let body = place.audit().await.remove(0).1;
    assert_eq!(body.get("arguments"), None);
    assert_eq!(body["arguments_digest"], json!(long.digest()));
    assert_eq!(body["arguments_cut"]["length_bytes"], 10_011);
    let beginning = body["arguments_cut"]["beginning"].as_str().unwrap();
    assert!(long.as_str().starts_with(beginning) && (1_021..=1_024).contains(&beginning.len()));
    assert_eq!(body["tool"].as_str().unwrap().len(), 256);
    assert_eq!(body["touches"].as_array().unwrap().len(), 64);
    assert_eq!(body["touches_count"], 100);
    let kept = place.store.call(call_id(1)).await.unwrap();
    assert_eq!(kept.arguments, long.as_bytes());
}
