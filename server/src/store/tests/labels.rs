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

fn content(label: Label, voice: Authorship) -> LabelledContent {
    LabelledContent { label, voice, calls: Vec::new(), text: None }
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
async fn labels_are_given_in_order_and_the_result_of_each_by_itself() {
    let place = chat(3, 100).await;
    let (store, id) = (&place.store, conversation_id(1));
    let given = |n| LabelledContent {
        calls: vec![digest(n)],
        text: (n == 3).then(|| "what a client reported".to_owned()),
        ..content(label(n, "kiosk"), Authorship::Untrusted)
    };
    for n in 1..=3 {
        store.label_content(id, given(n), 5).await.unwrap();
    }
    assert_eq!(store.labelled_content(id).await.unwrap(), [given(1), given(2), given(3)]);
    assert_eq!(store.result_of(call_id(2)).await.unwrap(), Some(vec![b'x'; 100]));
    assert_eq!(store.result_of(call_id(9)).await.unwrap(), None);
}

#[tokio::test]
async fn a_device_that_says_much_makes_no_other_label_forgotten() {
    let place = chat(3, 1).await;
    let (store, id) = (&place.store, conversation_id(1));
    store.label_content(id, content(label(1, "kiosk"), Authorship::Untrusted), 5).await.unwrap();
    store.label_content(id, content(label(2, "quiet"), Authorship::Device), 5).await.unwrap();
    for n in 3..63 {
        store.label_content(id, content(label(n, "loud"), Authorship::Device), 5).await.unwrap();
    }
    let kept = store.labelled_content(id).await.unwrap();
    assert_eq!(kept.len(), 52);
    let first = |n: usize| (kept[n].label.clone(), kept[n].voice);
    assert_eq!(first(0), (label(1, "kiosk"), Authorship::Untrusted));
    assert_eq!(first(1), (label(2, "quiet"), Authorship::Device));
}

#[tokio::test]
async fn content_that_is_read_again_displaces_no_other() {
    let place = chat(3, 1).await;
    let (store, id) = (&place.store, conversation_id(1));
    for n in 1..=2 {
        store
            .label_content(id, content(label(n, "kiosk"), Authorship::Untrusted), 5)
            .await
            .unwrap();
    }
    for _ in 0..60 {
        let again = content(label(2, "kiosk"), Authorship::Untrusted);
        let again = LabelledContent { calls: vec![digest(2)], ..again };
        store.label_content(id, again, 6).await.unwrap();
    }
    let kept = store.labelled_content(id).await.unwrap();
    let calls: Vec<_> = kept.into_iter().map(|it| (it.label.call, it.calls)).collect();
    assert_eq!(calls, [(call_id(1), vec![]), (call_id(2), vec![digest(2)])]);
    // Messages of a client are of no call.
    for _ in 0..2 {
        let reported = Label { call: CallId::new(Uuid::nil()), ..label(1, "the API's client") };
        store.label_content(id, content(reported, Authorship::Untrusted), 6).await.unwrap();
    }
    assert_eq!(store.labelled_content(id).await.unwrap().len(), 4);
    // A chat of its own has labels of its own, and so has what the device says beside the content.
    store.create_conversation(conversation_id(2), &user("ann"), 1).await.unwrap();
    let other = conversation_id(2);
    store.label_content(other, content(label(1, "kiosk"), Authorship::Untrusted), 5).await.unwrap();
    store.label_content(id, content(label(1, "kiosk"), Authorship::Device), 5).await.unwrap();
    assert_eq!(store.labelled_content(id).await.unwrap().len(), 5);
    assert_eq!(store.labelled_content(other).await.unwrap().len(), 1);
}
