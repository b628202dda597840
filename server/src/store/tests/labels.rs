//! Labels of content in chats.

use super::*;
use crate::store::{Authorship, Label, LabelledContent};

fn label(n: u128, device: &str) -> Label {
    Label {
        call: call_id(n),
        tool: "read_file".to_owned(),
        device: device.to_owned(),
        place: "/srv/note.txt".to_owned(),
    }
}

fn digest(n: u128) -> Digest {
    Digest::of(&n.to_be_bytes())
}

/// A chat with calls 1 to `calls`, each with a result of this many bytes.
async fn chat(calls: u128, bytes: usize) -> Place {
    let place = Place::new().await;
    place.store.create_conversation(conversation_id(1), &user("ann"), 1).await.unwrap();
    for n in 1..=calls {
        let result = vec![b'x'; bytes];
        place.store.open_call(NewCall { state: CallState::Dispatched, ..call(n) }).await.unwrap();
        let end = CloseCall { result, ..close(n, CallState::Succeeded) };
        assert!(place.store.close_call(end, ClosedBy::Backend).await.unwrap());
    }
    place
}

#[tokio::test]
async fn the_newest_results_are_given_and_of_those_before_the_labels_alone() {
    let place = chat(3, 100).await;
    let (store, id) = (&place.store, conversation_id(1));
    for n in 1..=3 {
        store
            .label_content(id, label(n, "kiosk"), Authorship::Untrusted, &[digest(n)], 5)
            .await
            .unwrap();
    }
    let given = |n, bytes| LabelledContent {
        label: label(n, "kiosk"),
        voice: Authorship::Untrusted,
        calls: vec![digest(n)],
        result: vec![b'x'; bytes],
    };
    let most = async |most| store.labelled_content(id, most).await.unwrap();
    assert_eq!(most(250).await, [given(1, 0), given(2, 100), given(3, 100)]);
    assert_eq!(most(99).await, [given(1, 0), given(2, 0), given(3, 0)]);
    assert_eq!(most(300).await, [given(1, 100), given(2, 100), given(3, 100)]);
}

#[tokio::test]
async fn a_device_that_says_much_makes_no_other_label_forgotten() {
    let place = chat(3, 1).await;
    let (store, id) = (&place.store, conversation_id(1));
    store.label_content(id, label(1, "kiosk"), Authorship::Untrusted, &[], 5).await.unwrap();
    store.label_content(id, label(2, "quiet"), Authorship::Device, &[], 5).await.unwrap();
    for _ in 0..60 {
        store.label_content(id, label(3, "loud"), Authorship::Device, &[], 5).await.unwrap();
    }
    let kept = store.labelled_content(id, 0).await.unwrap();
    assert_eq!(kept.len(), 52);
    let first = |n: usize| (kept[n].label.clone(), kept[n].voice);
    assert_eq!(first(0), (label(1, "kiosk"), Authorship::Untrusted));
    assert_eq!(first(1), (label(2, "quiet"), Authorship::Device));
}
