//! Language models through a server that nobody here wrote: aimock, which streams what it is told
//! to in the form of OpenAI's chat completions.

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Aimock, Device, Tree, World};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A world whose model is aimock with these fixtures.
async fn world(fixtures: Value) -> (World, Device, (Aimock, TempDir)) {
    let folder = tempfile::tempdir().unwrap();
    let aimock = Aimock::start(folder.path(), &json!({"fixtures": fixtures})).await;
    let section = format!(
        "[[models]]\nname = \"mock\"\nkind = \"openai\"\nurl = \"{}/v1\"\nmodel = \"any\"\n",
        aimock.url
    );
    let world = World::configured(&section).await;
    let kiosk = world.device("kiosk").start().await;
    (world, kiosk, (aimock, folder))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_streamed_tool_call_makes_a_folder_and_its_result_is_answered() {
    let call =
        json!({"name": "create_directory", "arguments": {"device": "kiosk", "path": "Test"}});
    let (world, kiosk, _aimock) = world(json!([
        {
            "match": {"userMessage": "Maak een folder", "hasToolResult": false},
            "chunkSize": 3,
            "response": {"toolCalls": [call]},
        },
        {
            "match": {"toolResultContains": "\"success\":true"},
            "chunkSize": 3,
            "response": {"content": "De folder staat er."},
        },
    ]))
    .await;
    let answer = world.admin().say("Maak een folder Test").await;
    assert!(answer.failure.is_none(), "{answer:?}");
    assert_eq!(answer.text, "De folder staat er.");
    let [call] = &answer.calls[..] else { panic!("one call: {answer:?}") };
    assert_eq!(*call.data(), json!({"created_path": kiosk.path("Test"), "created": true}));
    assert_eq!(answer.recovered, [false]);
    assert_eq!(kiosk.tree(), Tree::from([("Test".to_owned(), None)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_calls_in_one_answer_are_both_made() {
    let make = |path: &str| json!({"name": "create_directory", "arguments": {"path": path}});
    let (world, kiosk, _aimock) = world(json!([
        {
            "match": {"hasToolResult": false},
            "response": {"toolCalls": [make("a"), make("/etc/b"), make("c")]},
        },
        {"match": {"hasToolResult": true}, "response": {"content": "Klaar."}},
    ]))
    .await;
    let answer = world.admin().say("Maak alles").await;
    let ends: Vec<_> = answer.calls.iter().map(orion_tests::Call::end).collect();
    let done = (CallState::Succeeded, None);
    assert_eq!(
        ends,
        [done, (CallState::Denied, Some(ErrorCode::PathNotAllowed)), done],
        "{answer:?}"
    );
    assert_eq!(answer.text, "Klaar.");
    assert_eq!(kiosk.tree().into_keys().collect::<Vec<_>>(), ["a", "c"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_in_prose_is_made_and_marked_as_recovered() {
    let prose =
        r#"Natuurlijk! {"tool":"create_directory","device":"kiosk","path":"Test"} Momentje."#;
    let (world, kiosk, _aimock) = world(json!([
        {"match": {"hasToolResult": false}, "chunkSize": 5, "response": {"content": prose}},
        {"match": {"hasToolResult": true}, "response": {"content": "Klaar."}},
    ]))
    .await;
    let answer = world.admin().say("Maak een folder Test").await;
    assert_eq!(answer.recovered, [true], "{answer:?}");
    assert_eq!(answer.text, "Klaar.");
    assert_eq!(kiosk.tree(), Tree::from([("Test".to_owned(), None)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_answer_that_breaks_off_is_a_clear_error_and_makes_no_call() {
    let call =
        json!({"name": "create_directory", "arguments": {"device": "kiosk", "path": "Test"}});
    let (world, kiosk, (aimock, _folder)) = world(json!([
        {
            "match": {"userMessage": "call"},
            "chunkSize": 3,
            "truncateAfterChunks": 6,
            "latency": 20,
            "response": {"toolCalls": [call]},
        },
        {
            "match": {"userMessage": "words"},
            "chunkSize": 3,
            "truncateAfterChunks": 6,
            "latency": 20,
            "response": {"content": "Dit wordt midden in een zin afgebroken."},
        },
        {"match": {"userMessage": "again"}, "response": {"content": "Hier ben ik."}},
    ]))
    .await;
    let mut said = String::new();
    for text in ["call", "words"] {
        let broken = world.admin().say(text).await;
        let status = broken.failure.unwrap_or_else(|| panic!("{text}: no error"));
        let message = status.message().replace(&aimock.url, "[url]");
        let message = message.replace(aimock.url.trim_start_matches("http://"), "[address]");
        said.push_str(&format!("{text}: {:?}: {message}\n", status.code()));
        assert_eq!(broken.calls, []);
    }
    insta::assert_snapshot!(said);
    assert!(kiosk.tree().is_empty());
    assert_eq!(world.admin().say("again").await.text, "Hier ben ik.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_refuses_or_is_gone_is_a_clear_error() {
    let error = json!({"error": {"message": "no credit left", "type": "billing"}, "status": 402});
    let (world, _kiosk, aimock) =
        world(json!([{"match": {"userMessage": "pay"}, "response": error}])).await;
    let refused = world.admin().say("pay").await.failure.unwrap();
    assert!(refused.message().contains("no credit left"), "{refused:?}");
    drop(aimock);
    let gone = world.admin().say("anything").await.failure.unwrap();
    assert_eq!(gone.code(), tonic::Code::Aborted, "{gone:?}");
    let said = world.cli().run(&["ask", "anything"]).await;
    assert_eq!(said.code, 1, "{said:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_megabyte_of_garbage_from_the_model_makes_no_call() {
    let garbage: String =
        "{\"tool\":\"create_directory\",\"path\":\"x".chars().cycle().take(1_000_000).collect();
    let (world, kiosk, _aimock) = world(json!([
        {"match": {"userMessage": "could not be read"}, "response": {"content": "Pardon."}},
        {"match": {}, "chunkSize": 10_000, "response": {"content": garbage}},
    ]))
    .await;
    let answer = world.admin().say("Maak een folder Test").await;
    assert_eq!(answer.calls, [], "{:?}", answer.notes);
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_never_stops_calling_is_stopped() {
    let call = json!({"name": "get_datetime", "arguments": {}});
    let (world, _kiosk, _aimock) =
        world(json!([{"match": {}, "response": {"toolCalls": [call]}}])).await;
    let answer = world.admin().say("Hoe laat is het").await;
    assert_eq!(answer.calls.len(), 10, "{answer:?}");
    assert_eq!(
        answer.notes,
        ["The model wanted more than 10 rounds of tool calls; its last words are the answer."]
    );
}
