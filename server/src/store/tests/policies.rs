//! Versions of the policy file: numbered in order, never changed, each with an audit row.

use super::*;
use crate::store::{NewPolicy, StoreError};

fn policy(text: &str, follows: i64, restores: Option<i64>) -> NewPolicy {
    NewPolicy {
        text: text.to_owned(),
        by: user("admin"),
        note: "why".to_owned(),
        follows,
        restores,
        changes: json!([]),
    }
}

#[tokio::test]
async fn the_last_version_holds_and_the_others_stay_as_they_were() {
    let place = Place::new().await;
    assert_eq!(place.store.active_policy().await, Ok(None));
    let first = place.store.apply_policy(policy("one", 0, None), 1_000).await.unwrap();
    let second = place.store.apply_policy(policy("two", 1, None), 2_000).await.unwrap();
    let third = place.store.apply_policy(policy("one", 2, Some(1)), 3_000).await.unwrap();
    assert_eq!([first.version, second.version, third.version], [1, 2, 3]);
    assert_eq!((&third.sha256, third.restores), (&first.sha256, Some(1)));
    assert_eq!(first.sha256, Digest::of(b"one"));

    let place = place.reopened().await;
    assert_eq!(place.store.active_policy().await, Ok(Some(third.clone())));
    assert_eq!(place.store.policy(2).await, Ok(second));
    assert_eq!(place.store.policy(4).await, Err(StoreError::NotFound));
    let listed = place.store.policies().await.unwrap();
    let seen: Vec<_> = listed.iter().map(|row| (row.version, row.text.as_str())).collect();
    assert_eq!(seen, [(3, ""), (2, ""), (1, "")], "a list holds no texts");
    assert_eq!(place.kinds().await, ["policy.applied", "policy.applied", "policy.rolled_back"]);
    let (_, body) = place.audit().await.pop().unwrap();
    assert_eq!(
        (&body["version"], &body["restores"], &body["by"]),
        (&json!(3), &json!(1), &json!("admin"))
    );
}

#[tokio::test]
async fn of_many_who_apply_at_once_one_is_first_and_the_others_are_told() {
    let place = Place::new().await;
    let mut tries = Vec::new();
    for n in 0..50 {
        let store = place.store.clone();
        tries.push(tokio::spawn(async move {
            store.apply_policy(policy(&format!("text {n}"), 0, None), 1_000).await
        }));
    }
    let mut first = 0;
    for end in tries {
        match end.await.unwrap() {
            Ok(row) => {
                assert_eq!(row.version, 1);
                first += 1;
            }
            Err(error) => assert_eq!(error, StoreError::Conflict),
        }
    }
    assert_eq!(first, 1);
    assert_eq!(place.kinds().await, ["policy.applied"]);
}
