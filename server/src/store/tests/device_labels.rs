//! Labels of tokens and devices: stored with the use of the token, changed as a whole, recorded.

use std::collections::BTreeSet;

use orion_policy::{LabelChange, LabelError, Labels};

use super::devices::{candidate, invite, invite_id};
use super::*;
use crate::store::{Candidate, DeviceState, NewInvite, SetLabelsError, StoreError};

fn labels(pairs: &[&str]) -> Labels {
    Labels::parse(&texts(pairs)).unwrap()
}

fn texts(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|&text| text.to_owned()).collect()
}

fn change(set: &[&str], remove: &[&str]) -> LabelChange {
    LabelChange::parse(&texts(set), &texts(remove)).unwrap()
}

async fn labelled() -> Place {
    let place = Place::new().await;
    let new = NewInvite { name: None, labels: labels(&["env=lab", "a=b"]), ..invite(1, 9) };
    place.store.create_invite(new).await.unwrap();
    place
}

#[tokio::test]
async fn a_device_has_the_labels_of_its_token_and_keeps_them() {
    let place = labelled().await;
    let own = Candidate { may_come_again: true, ..candidate(1, "pi") };
    let first = place.store.enroll_device(own.clone()).await.unwrap();
    assert_eq!(first.device.labels, labels(&["env=lab", "a=b"]));
    place.store.set_labels(device_id(1), change(&[], &["a"]), &user("admin"), 2).await.unwrap();
    // A retry gets the device as it is.
    let again = place.store.enroll_device(own).await.unwrap();
    assert_eq!((again.is_new, again.device.labels), (false, labels(&["env=lab"])));
    place.store.create_invite(NewInvite { id: invite_id(2), ..invite(1, 1) }).await.unwrap();
    let bare = Candidate { invite: invite_id(2), ..candidate(2, "pi") };
    assert_eq!(place.store.enroll_device(bare).await.unwrap().device.labels, Labels::default());

    let place = place.reopened().await;
    assert_eq!(place.store.device("pi").await.unwrap().labels, labels(&["env=lab"]));
    let bodies = place.audit().await;
    let body = |kind: &str| bodies.iter().find(|(it, _)| it == kind).unwrap().1.clone();
    for kind in ["invite.created", "device.enrolled"] {
        assert_eq!(body(kind)["labels"], json!({"a": "b", "env": "lab"}), "{kind}");
    }
    assert_eq!(
        body("device.labels_set"),
        json!({
            "device_id": device_id(1), "name": "pi", "by": "admin",
            "before": {"a": "b", "env": "lab"}, "after": {"env": "lab"}
        })
    );
}

#[tokio::test]
async fn a_change_is_recorded_once_and_one_too_many_is_none() {
    let place = labelled().await;
    place.store.enroll_device(candidate(1, "pi")).await.unwrap();
    let set = async |change: LabelChange| {
        place.store.set_labels(device_id(1), change, &user("admin"), 2).await
    };
    let more: Vec<_> = (0..15).map(|number| format!("k{number}=x")).collect();
    let more: Vec<_> = more.iter().map(String::as_str).collect();
    assert_eq!(set(change(&more, &[])).await, Err(SetLabelsError::Labels(LabelError::TooMany)));
    assert_eq!(set(change(&["env=lab"], &["other"])).await, Ok(()));
    assert_eq!(place.store.device("pi").await.unwrap().labels, labels(&["env=lab", "a=b"]));
    assert!(!place.kinds().await.contains(&"device.labels_set".to_owned()));
    assert_eq!(set(change(&more, &["a"])).await, Ok(()));
    assert_eq!(place.store.device("pi").await.unwrap().labels.iter().count(), 16);
    let (nobody, admin) = (device_id(9), user("admin"));
    let set = place.store.set_labels(nobody, change(&["a=b"], &[]), &admin, 2).await;
    assert_eq!(set, Err(SetLabelsError::Store(StoreError::NotFound)));
}

#[tokio::test]
async fn the_labels_of_tokens_count_while_a_device_can_use_them() {
    let place = labelled().await;
    let open = async |now: i64| place.store.labels_of_open_invites(now).await.unwrap();
    let none = NewInvite { id: invite_id(2), ..invite(1, 1) };
    place.store.create_invite(none).await.unwrap();
    let once = NewInvite { id: invite_id(3), labels: labels(&["x=y"]), ..invite(1, 1) };
    place.store.create_invite(once).await.unwrap();
    let of_first = labels(&["env=lab", "a=b"]);
    assert_eq!(open(1_000).await, [of_first.clone(), labels(&["x=y"])]);
    let spends = Candidate { invite: invite_id(3), ..candidate(1, "pi") };
    place.store.enroll_device(spends).await.unwrap();
    assert_eq!(open(1_000).await, [of_first]);
    assert_eq!(open(5_000).await, []);
}

#[tokio::test]
async fn a_device_that_takes_a_name_of_the_policy_waits_for_an_admin() {
    let place = labelled().await;
    let policy_names: BTreeSet<_> = ["pi-2", "web"].map(|name| name.parse().unwrap()).into();
    let state = async |n: u128, name: &str| {
        let one = Candidate { policy_names: policy_names.clone(), ..candidate(n, name) };
        let device = place.store.enroll_device(one).await.unwrap().device;
        (device.name.to_string(), device.state)
    };
    let (pending, approved) = (DeviceState::Pending, DeviceState::Approved);
    assert_eq!(state(1, "web").await, ("web".to_owned(), pending));
    assert_eq!(state(2, "pi").await, ("pi".to_owned(), approved));
    // Also with the number that it gets because the name is taken.
    assert_eq!(state(3, "pi").await, ("pi-2".to_owned(), pending));
    assert_eq!(state(4, "pi").await, ("pi-3".to_owned(), approved));

    let named = NewInvite { id: invite_id(2), name: Some("web".parse().unwrap()), ..invite(1, 1) };
    place
        .store
        .set_device_state(device_id(1), &[pending], DeviceState::Rejected, &user("admin"), "", 2)
        .await
        .unwrap();
    place.store.create_invite(named).await.unwrap();
    let one = Candidate { invite: invite_id(2), policy_names, ..candidate(5, "x") };
    let device = place.store.enroll_device(one).await.unwrap().device;
    assert_eq!((device.name.as_str(), device.state), ("web", approved));
}
