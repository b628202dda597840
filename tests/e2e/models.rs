//! Language models through a server that nobody here wrote: aimock, which streams what it is told
//! to in the form of OpenAI's chat completions.

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Aimock, Device, Tree, World};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A world whose model is aimock with these fixtures.
async fn world(fixtures: Value) -> (World, Device, (Aimock, TempDir)) {
    world_with(fixtures, "auto").await
}

/// The same with tools offered in this way.
async fn world_with(fixtures: Value, tool_calls: &str) -> (World, Device, (Aimock, TempDir)) {
    let folder = tempfile::tempdir().unwrap();
    let aimock = Aimock::start(folder.path(), &json!({"fixtures": fixtures})).await;
    let section = format!(
        "[[models]]\nname = \"mock\"\nkind = \"openai\"\nurl = \"{}/v1\"\nmodel = \"any\"\n\
         tool_calls = \"{tool_calls}\"\n",
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
async fn a_call_in_prose_of_low_risk_is_made_and_marked_as_recovered() {
    let prose =
        r#"Natuurlijk! {"tool":"create_directory","device":"kiosk","path":"Test"} Momentje."#;
    let fixtures = json!([
        // Results are in the words of a person where tools are text.
        {"match": {"userMessage": "success"}, "response": {"content": "Klaar."}},
        {"match": {"hasToolResult": false}, "chunkSize": 5, "response": {"content": prose}},
    ]);
    let (world, kiosk, _aimock) = world_with(fixtures, "text").await;
    let answer = world.admin().say("Maak een folder Test").await;
    assert_eq!(answer.recovered, [true], "{answer:?}");
    assert_eq!(answer.text, "Klaar.");
    assert_eq!(kiosk.tree(), Tree::from([("Test".to_owned(), None)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_calls_above_low_risk_the_whole_answer_runs_and_one_in_prose_asks() {
    let call = r#"{"tool":"write_file","device":"kiosk","path":"Test","content":"x"}"#;
    let prose = format!("Natuurlijk! {call} Momentje.");
    let fixtures = json!([
        // Results are in the words of a person where tools are text.
        {"match": {"userMessage": "success"}, "response": {"content": "Klaar."}},
        {"match": {"userMessage": "prose", "hasToolResult": false}, "response": {"content": prose}},
        {"match": {"userMessage": "whole", "hasToolResult": false}, "response": {"content": call}},
    ]);
    let (world, kiosk, _aimock) = world_with(fixtures, "text").await;
    let (admin, mut cards) = (world.admin(), Vec::new());
    let answer = admin.asked("", "prose", async |card| {
        assert!(kiosk.tree().is_empty());
        admin.decide(&card.approval_id, false, "").await.unwrap();
        cards.push((card.tool.clone(), card.rule.clone()));
    });
    let answer = answer.await;
    let card = ("write_file".to_owned(), "chat: a call picked out of prose".to_owned());
    assert_eq!((answer.recovered, cards), (vec![true], vec![card]));
    assert!(kiosk.tree().is_empty());
    let answer = world.admin().say("whole").await;
    assert_eq!(answer.recovered, [false], "{answer:?}");
    assert_eq!(std::fs::read_to_string(kiosk.path("Test")).unwrap(), "x");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_tools_are_offered_natively_a_call_as_text_is_said_and_not_made() {
    let call = r#"{"tool":"create_directory","device":"kiosk","path":"Test"}"#;
    let (world, kiosk, _aimock) = world(json!([
        {"match": {"userMessage": "could not be read"}, "response": {"content": "Pardon."}},
        {"match": {"userMessage": "Maak"}, "chunkSize": 4, "response": {"content": call}},
    ]))
    .await;
    let answer = world.admin().say("Maak een folder Test").await;
    assert_eq!((answer.calls.len(), answer.text.as_str()), (0, "Pardon."), "{answer:?}");
    assert!(answer.notes[0].contains("offered to this model natively"), "{:?}", answer.notes);
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_model_that_writes_a_call_as_text_again_has_answered() {
    let call = r#"{"tool":"create_directory","device":"kiosk","path":"Test"}"#;
    let (world, kiosk, _aimock) =
        world(json!([{"match": {}, "response": {"content": call}}])).await;
    let answer = world.admin().say("Maak een folder Test").await;
    assert_eq!((answer.calls.len(), answer.text.as_str(), answer.notes.len()), (0, call, 2));
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_in_xml_gets_the_types_of_its_tool() {
    let call = "<tool_call>\n<function=read_file>\n<parameter=path>\n7\n</parameter>\n\
                <parameter=limit>\n1\n</parameter>\n</function>\n</tool_call>";
    let fixtures = json!([
        // Results are in the words of a person where tools are text.
        {"match": {"userMessage": "success"}, "response": {"content": "Klaar."}},
        {"match": {"hasToolResult": false}, "chunkSize": 3, "response": {"content": call}},
    ]);
    let (world, kiosk, _aimock) = world_with(fixtures, "text").await;
    std::fs::write(kiosk.path("7"), "one\ntwo\n").unwrap();
    let answer = world.admin().say("Lees 7").await;
    assert_eq!(answer.calls[0].end(), (CallState::Succeeded, None), "{answer:?}");
    assert_eq!(answer.recovered, [false]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_the_answer_denies_is_not_made_and_the_person_is_told() {
    let text = r#"I will NOT run {"tool":"create_directory","device":"kiosk","path":"Test"}"#;
    let fixtures = json!([{"match": {}, "chunkSize": 7, "response": {"content": text}}]);
    let (world, kiosk, _aimock) = world_with(fixtures, "text").await;
    let answer = world.admin().say("Maak een folder Test").await;
    assert_eq!((answer.calls.len(), answer.text.as_str()), (0, text), "{answer:?}");
    assert!(answer.notes[0].contains("the text around it denies it"), "{:?}", answer.notes);
    assert!(kiosk.tree().is_empty());
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
