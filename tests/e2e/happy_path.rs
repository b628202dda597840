//! One message, one folder.

use orion_domain::CallState;
use orion_tests::{Tree, World, audit_of};
use serde_json::json;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_message_makes_a_folder() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;

    let answer = world.admin().say("Maak een folder Test").await;

    assert!(answer.failure.is_none(), "{answer:?}");
    assert_eq!(kiosk.tree(), Tree::from([("Test".to_owned(), None)]));
    let [call] = &answer.calls[..] else { panic!("one call: {answer:?}") };
    assert_eq!(*call.data(), json!({"created_path": kiosk.path("Test"), "created": true}));
    assert_eq!(call.arguments, json!({"path": "Test", "parents": false}));
    assert_eq!(answer.notes, Vec::<String>::new());
    insta::assert_snapshot!(world.seen().in_text(&answer.text));

    let rows = audit_of(world.admin(), &call.id).await;
    let kinds: Vec<_> = rows.iter().map(|row| row.kind.as_str()).collect();
    assert_eq!(kinds, ["call.opened", "call.closed"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_message_on_the_command_line_makes_a_folder() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;

    let asked = world.cli().run(&["ask", "Maak een folder Test"]).await;

    assert_eq!(kiosk.tree(), Tree::from([("Test".to_owned(), None)]));
    // The last line has the call's id.
    let shown = world.seen().in_text(&asked.shown());
    let (before, undo) = shown.trim_end().rsplit_once('\n').unwrap();
    assert!(undo.starts_with("undo: orion undo "), "{undo}");
    insta::assert_snapshot!(before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_conversation_goes_on_where_it_was() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;

    let first = world.admin().say("Maak een folder Eerste").await;
    let request = orion_wire::v1::SendMessageRequest {
        conversation_id: first.conversation.clone(),
        text: "Maak een folder Tweede".to_owned(),
        ..Default::default()
    };
    let second = world.admin().send(request).await;

    assert_eq!(second.conversation, first.conversation);
    let states: Vec<_> = first.calls.iter().chain(&second.calls).map(|call| call.state).collect();
    assert_eq!(states, [CallState::Succeeded, CallState::Succeeded]);
    let folders = [("Eerste".to_owned(), None), ("Tweede".to_owned(), None)];
    assert_eq!(kiosk.tree(), Tree::from(folders));
}
