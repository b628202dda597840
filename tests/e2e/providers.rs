//! Chats through each provider's form, against a server that nobody here wrote: aimock streams tool calls, usage
//! and faults in the forms of OpenAI, Anthropic and Gemini.

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Aimock, Answer, HeldModel, Tree, World, eventually};
use orion_wire::v1;
use serde_json::{Value, json};
use tempfile::TempDir;

/// Each form: the lines of its section, and the path below aimock's address.
const FORMS: [(&str, &str, &str); 4] = [
    ("chat", "kind = \"openai\"", "/v1"),
    ("responses", "kind = \"openai\"\napi = \"responses\"", "/v1"),
    ("claude", "kind = \"anthropic\"", "/v1"),
    ("gemini", "kind = \"gemini\"", "/v1beta"),
];

async fn mock(fixtures: Value) -> (Aimock, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let aimock = Aimock::start(folder.path(), &json!({ "fixtures": fixtures })).await;
    (aimock, folder)
}

/// One section for each form, with prices, and more lines in each.
fn sections(aimock: &Aimock, more: &str) -> String {
    let section = |(name, kind, path): &(&str, &str, &str)| {
        format!(
            "[[models]]\nname = \"{name}\"\n{kind}\nurl = \"{}{path}\"\nmodel = \"any-model\"\n\
             price_input = 2\nprice_output = 10\n{more}\n",
            aimock.url
        )
    };
    FORMS.iter().map(section).collect()
}

async fn say(world: &World, chat: &str, model: &str, text: &str) -> Answer {
    let request = v1::SendMessageRequest {
        conversation_id: chat.to_owned(),
        text: text.to_owned(),
        model: model.to_owned(),
        ..Default::default()
    };
    world.admin().send(request).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_every_form_parallel_calls_are_made_answered_and_counted() {
    let make = |path: &str| json!({"name": "create_directory", "arguments": {"path": path}});
    let two = |name: &str| {
        json!({
            "match": {"userMessage": format!("make {name}"), "hasToolResult": false},
            "chunkSize": 3,
            "response": {"toolCalls": [make(&format!("{name}-a")), make(&format!("{name}-b"))]},
        })
    };
    let mut fixtures: Vec<Value> = FORMS.iter().map(|(name, ..)| two(name)).collect();
    fixtures.push(json!({
        "match": {"hasToolResult": true, "toolResultContains": "\"success\":true"},
        "chunkSize": 3,
        "response": {"content": "Ze staan er: één én twee."},
    }));
    let (aimock, _folder) = mock(json!(fixtures)).await;
    let world = World::configured(&sections(&aimock, "")).await;
    let kiosk = world.device("kiosk").start().await;
    for (name, ..) in FORMS {
        let answer = say(&world, "", name, &format!("make {name}")).await;
        assert!(answer.failure.is_none(), "{name}: {answer:?}");
        assert_eq!(answer.text, "Ze staan er: één én twee.", "{name}");
        let ends: Vec<_> = answer.calls.iter().map(orion_tests::Call::end).collect();
        assert_eq!(ends, [(CallState::Succeeded, None); 2], "{name}: {answer:?}");
        assert_eq!(answer.recovered, [false, false], "{name}");
        let usage = answer.usage.unwrap_or_else(|| panic!("{name}: no usage"));
        assert!(usage.input_tokens > 0 && usage.output_tokens > 0, "{name}: {usage:?}");
        let cost = usage.input_tokens * 2_000 + usage.output_tokens * 10_000;
        assert_eq!(usage.cost_nanos, cost, "{name}: {usage:?}");
        // The chat keeps its model, and shows what it used.
        let shown =
            world.cli().run(&["chats", "show", &answer.conversation, "-o", "json"]).await.json();
        assert_eq!(shown[0]["model"], name, "{shown}");
        assert_eq!(shown[0]["usage"]["cost_nanos"], json!(cost), "{shown}");
        let page = world.cli().run(&["chats", "show", &answer.conversation]).await;
        assert!(page.stdout.contains("tokens in"), "{page:?}");
    }
    let made: Vec<String> = kiosk.tree().into_keys().collect();
    let mut expected: Vec<String> =
        FORMS.iter().flat_map(|(name, ..)| [format!("{name}-a"), format!("{name}-b")]).collect();
    expected.sort();
    assert_eq!(made, expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_every_form_a_fault_is_a_clear_error_and_makes_no_call() {
    let error = |name: &str, status: u16, kind: &str, message: &str| {
        json!({
            "match": {"userMessage": name},
            "response": {"error": {"message": message, "type": kind}, "status": status},
        })
    };
    let call = json!({"name": "create_directory", "arguments": {"path": "Test"}});
    let (aimock, _folder) = mock(json!([
        error("key", 401, "authentication_error", "bad key"),
        error("long", 400, "invalid_request_error", "prompt is too long: maximum context length"),
        error("pay", 402, "billing", "no credit left"),
        {"match": {"userMessage": "breaks in a call"}, "chunkSize": 3, "truncateAfterChunks": 4, "latency": 20, "response": {"toolCalls": [call]}},
        {"match": {"userMessage": "breaks in words"}, "chunkSize": 3, "truncateAfterChunks": 4, "latency": 20, "response": {"content": "Dit wordt midden in een zin afgebroken."}},
        {"match": {"userMessage": "still there"}, "response": {"content": "Yes."}},
    ]))
    .await;
    let world = World::configured(&sections(&aimock, "")).await;
    let kiosk = world.device("kiosk").start().await;
    for (name, ..) in FORMS {
        for (text, part) in [
            ("key", "does not accept the key"),
            ("long", "longer than the model can read"),
            ("pay", "no credit left"),
            ("breaks in words", "broke off"),
            ("breaks in a call", "broke off"),
        ] {
            // There a call comes whole or not at all.
            if (name, text) == ("gemini", "breaks in a call") {
                continue;
            }
            let answer = say(&world, "", name, text).await;
            let said = answer.failure.unwrap_or_else(|| panic!("{name} {text}: no error"));
            assert!(said.message().contains(part), "{name} {text}: {said:?}");
            assert_eq!(answer.calls, [], "{name} {text}");
        }
        assert_eq!(say(&world, "", name, "still there").await.text, "Yes.", "{name}");
    }
    assert_eq!(kiosk.tree(), Tree::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_model_answers_where_one_cannot_be_reached_and_the_person_is_told() {
    let mut held = HeldModel::start().await;
    let gone = "[[models]]\nname = \"gone\"\nkind = \"anthropic\"\nurl = \"http://127.0.0.1:1/v1\"\n\
                model = \"m\"\nfallback = [\"held\"]\n";
    let world = World::configured(&format!("{gone}{}", held.section)).await;
    let admin = world.admin().clone();
    let talking = tokio::spawn(async move { admin.say("hello").await });
    held.asked().await.answer("Hello from the other.").await;
    let answer = talking.await.unwrap();
    assert_eq!(answer.text, "Hello from the other.", "{answer:?}");
    let [note] = &answer.notes[..] else { panic!("one note: {answer:?}") };
    assert!(note.starts_with("The model gone cannot be asked now, so held answers:"), "{note}");

    // Once a word has come, nobody else answers.
    let (world, mut first) = {
        let first = HeldModel::start().await;
        let section = first.section.replace("held", "first") + "fallback = [\"held\"]\n";
        (World::configured(&format!("{section}{}", held.section)).await, first)
    };
    let admin = world.admin().clone();
    let talking = tokio::spawn(async move { admin.say("hello").await });
    let mut asked = first.asked().await;
    asked.begin("I am ").await;
    drop(asked);
    let broken = talking.await.unwrap();
    assert!(broken.failure.is_some() || broken.text.trim() == "I am", "{broken:?}");
    assert!(!broken.notes.iter().any(|note| note.contains("cannot be asked")), "{broken:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_keeps_its_model_until_another_is_named() {
    let (mut one, mut two) = (HeldModel::start().await, HeldModel::start().await);
    let sections = one.section.clone() + &two.section.replace("held", "other");
    let world = World::configured(&sections).await;
    let talk = |chat: String, model: &'static str| {
        let admin = world.admin().clone();
        tokio::spawn(async move {
            let request = v1::SendMessageRequest {
                conversation_id: chat,
                text: "hello".to_owned(),
                model: model.to_owned(),
                ..Default::default()
            };
            admin.send(request).await
        })
    };
    let talking = talk(String::new(), "other");
    two.asked().await.answer("Two.").await;
    let chat = talking.await.unwrap().conversation;
    let talking = talk(chat.clone(), "");
    two.asked().await.answer("Two again.").await;
    assert_eq!(talking.await.unwrap().text, "Two again.");
    let talking = talk(chat.clone(), "held");
    one.asked().await.answer("One.").await;
    assert_eq!(talking.await.unwrap().text, "One.");
    world.server().stop().await;
    world.restart_server().await;
    let talking = talk(chat, "");
    one.asked().await.answer("One after a restart.").await;
    assert_eq!(talking.await.unwrap().text, "One after a restart.");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_assistant_narrows_what_its_person_may_use_and_stays_with_the_chat() {
    let mut held = HeldModel::start().await;
    let assistant = "[[assistants]]\nname = \"reader\"\nprompt = \"Only read.\"\n\
                     tools = [\"read_file\", \"create_directory\"]\ndevices = [\"kiosk\"]\n";
    let world = World::configured(&format!("{}{assistant}", held.section)).await;
    let kiosk = world.device("kiosk").start().await;
    let nas = world.device("nas").start().await;
    kiosk.write_file("a.txt", "x");
    let talk = |chat: String, assistant: &'static str| {
        let admin = world.admin().clone();
        tokio::spawn(async move {
            let request = v1::SendMessageRequest {
                conversation_id: chat,
                text: "hello".to_owned(),
                assistant: assistant.to_owned(),
                ..Default::default()
            };
            admin.send(request).await
        })
    };
    let talking = talk(String::new(), "reader");
    let asked = held.asked().await;
    let system = asked.body["messages"][0]["content"].as_str().unwrap().to_owned();
    assert!(system.contains("Only read.") && !system.contains("nas"), "{system}");
    let tools = asked.body["tools"].as_array().unwrap().iter();
    let mut offered: Vec<_> = tools.map(|it| it["function"]["name"].as_str().unwrap()).collect();
    offered.sort_unstable();
    assert_eq!(offered, ["create_directory", "read_file"]);
    asked
        .call(&[
            ("read_file", json!({"device": "kiosk", "path": "a.txt"})),
            ("create_directory", json!({"device": "nas", "path": "b"})),
            ("delete_file", json!({"device": "kiosk", "path": "a.txt", "confirm": true})),
            ("list_devices", json!({})),
        ])
        .await;
    held.asked().await.answer("Done.").await;
    let answer = talking.await.unwrap();
    let mut ends: Vec<_> = answer.calls.iter().map(orion_tests::Call::end).collect();
    ends.sort_by_key(|(state, _)| format!("{state:?}"));
    let denied = (CallState::Denied, Some(ErrorCode::PermissionDenied));
    assert_eq!(ends, [denied, denied, denied, (CallState::Succeeded, None)], "{answer:?}");
    assert_eq!(nas.tree(), Tree::new());

    let talking = talk(answer.conversation, "");
    held.asked().await.call(&[("create_directory", json!({"device": "nas", "path": "b"}))]).await;
    held.asked().await.answer("Done.").await;
    let again = talking.await.unwrap();
    assert_eq!(again.calls[0].end(), denied, "{again:?}");
    let unknown = talk(String::new(), "nobody").await.unwrap().failure.unwrap();
    assert!(unknown.message().contains("no assistant `nobody`"), "{unknown:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_goes_on_after_an_approval_that_came_after_a_restart() {
    let mut held = HeldModel::start().await;
    let world = World::configured(&held.section).await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old/a.txt", "x");
    let request = v1::SendMessageRequest { text: "delete old".to_owned(), ..Default::default() };
    let mut events = world.admin().chats().send_message(request).await.unwrap().into_inner();
    held.asked()
        .await
        .call(&[(
            "delete_directory",
            json!({"device": "kiosk", "path": "old", "recursive": true, "confirm": true}),
        )])
        .await;
    let card = loop {
        let event = events.message().await.unwrap().unwrap().event.unwrap();
        if let v1::send_message_response::Event::ApprovalNeeded(card) = event {
            break card;
        }
    };
    drop(events);
    world.server().kill9().await;
    world.restart_server().await;
    kiosk.ready().await;
    world.admin().decide(&card.approval_id, true, "").await.unwrap();
    eventually("the deletion", async || kiosk.tree().is_empty().then_some(())).await;

    let shown = world.cli().run(&["chats", "show", &card.conversation_id]).await;
    assert!(shown.stderr.contains("not finished"), "{shown:?}");
    let cli = world.cli();
    let chat = card.conversation_id.clone();
    let going_on =
        tokio::spawn(async move { cli.run_with(&["chat", "--resume", &chat], b"").await });
    let asked = held.asked().await;
    let messages = asked.body["messages"].as_array().unwrap().clone();
    let result = messages.last().unwrap();
    assert_eq!(result["role"], "tool", "{messages:?}");
    assert!(result["content"].as_str().unwrap().contains("\"success\":true"), "{result}");
    asked.answer("It is gone.").await;
    let resumed = going_on.await.unwrap();
    assert_eq!(resumed.code, 0, "{resumed:?}");
    assert!(resumed.stdout.contains("It is gone."), "{resumed:?}");

    let request = v1::SendMessageRequest {
        conversation_id: card.conversation_id,
        resume: true,
        ..Default::default()
    };
    let again = world.admin().send(request).await.failure.unwrap();
    assert!(again.message().contains("nothing to go on with"), "{again:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_long_chat_is_cut_to_the_window_and_stays_valid() {
    let mut held = HeldModel::start().await;
    let more = "context_tokens = 8192\n[chat]\nmax_tool_rounds = 20\n\
                [[assistants]]\nname = \"reader\"\ntools = [\"read_file\"]\n";
    let world = World::configured(&format!("{}{more}", held.section)).await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("big.txt", "a line of text\n".repeat(1000));
    let admin = world.admin().clone();
    let said = "read it again and again";
    let talking = tokio::spawn(async move {
        let request = v1::SendMessageRequest {
            text: said.to_owned(),
            assistant: "reader".to_owned(),
            ..Default::default()
        };
        admin.send(request).await
    });
    let mut sizes = Vec::new();
    for _ in 0..12 {
        let asked = held.asked().await;
        sizes.push(asked.body.to_string().len());
        let messages = asked.body["messages"].as_array().unwrap();
        assert_eq!(messages[0]["role"], "system");
        assert!(messages.iter().any(|it| it["content"] == said));
        let calls = messages.iter().filter_map(|it| it["tool_calls"].as_array()).map(Vec::len);
        let results = messages.iter().filter(|it| it["role"] == "tool").count();
        assert_eq!(calls.sum::<usize>(), results);
        asked.call(&[("read_file", json!({"device": "kiosk", "path": "big.txt"}))]).await;
    }
    held.asked().await.answer("Enough.").await;
    let answer = talking.await.unwrap();
    assert_eq!(answer.text, "Enough.", "{answer:?}");
    // The estimate counts three bytes a token; JSON in JSON is a little longer.
    assert!(sizes.iter().all(|size| *size < 8192 * 4), "{sizes:?}");
    let told = answer.notes.iter().filter(|note| note.contains("longer than the model's window"));
    assert_eq!(told.count(), 1, "{answer:?}");
}
