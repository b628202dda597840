//! Chats through LiteLLM, a proxy that nobody here wrote, in front of aimock: it speaks three forms and translates
//! each to another. `make test-proxy` installs it; it is too large (750 MB) for every run.

use std::ffi::OsStr;
use std::net::TcpListener;
use std::path::Path;

use orion_domain::CallState;
use orion_tests::{Aimock, Launch, PATIENCE, Process, World};
use orion_wire::v1;
use serde_json::json;

/// The forms that the proxy speaks: the lines of the section.
const FORMS: [(&str, &str); 3] = [
    ("chat", "kind = \"openai\""),
    ("responses", "kind = \"openai\"\napi = \"responses\""),
    ("claude", "kind = \"anthropic\""),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn through_a_proxy_a_device_is_driven_in_every_form_that_it_speaks() {
    let Ok(program) = std::env::var("ORION_TEST_LITELLM") else { return };
    let folder = tempfile::tempdir().unwrap();
    let make = |name: &str| {
        json!({
            "match": {"userMessage": format!("make {name}"), "hasToolResult": false},
            "chunkSize": 3,
            "response": {"toolCalls": [{"name": "create_directory", "arguments": {"path": name}}]},
        })
    };
    let mut fixtures: Vec<_> = FORMS.iter().map(|(name, _)| make(name)).collect();
    fixtures.push(json!({"match": {"hasToolResult": true}, "response": {"content": "Klaar."}}));
    let aimock = Aimock::start(folder.path(), &json!({ "fixtures": fixtures })).await;
    let (config, log) = (folder.path().join("config.json"), folder.path().join("litellm.log"));
    let upstream =
        json!({"model": "openai/any", "api_base": format!("{}/v1", aimock.url), "api_key": "none"});
    // It listens on this machine only, and for this test.
    let general = json!({"dangerously_permit_weak_or_unset_master_key": true});
    let models = json!({"general_settings": general, "model_list": [{"model_name": "any", "litellm_params": upstream}]});
    std::fs::write(&config, models.to_string()).unwrap();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    let arguments = [
        OsStr::new("--config"),
        config.as_os_str(),
        OsStr::new("--host"),
        OsStr::new("127.0.0.1"),
        OsStr::new("--port"),
        OsStr::new(&port),
    ];
    let launch = Launch { arguments: &arguments, ..Launch::default() };
    let proxy = Process::start(Path::new(&program), &log, &launch);
    let address = format!("127.0.0.1:{port}");
    let began = std::time::Instant::now();
    while tokio::net::TcpStream::connect(&address).await.is_err() {
        assert!(proxy.is_running(), "LiteLLM did not start:\n{}", proxy.log());
        // It loads for long.
        assert!(began.elapsed() < 20 * PATIENCE, "LiteLLM does not listen:\n{}", proxy.log());
        tokio::task::yield_now().await;
    }
    let section = |(name, kind): &(&str, &str)| {
        format!(
            "[[models]]\nname = \"{name}\"\n{kind}\nurl = \"http://{address}/v1\"\nmodel = \"any\"\n"
        )
    };
    let world = World::configured(&FORMS.iter().map(section).collect::<String>()).await;
    let kiosk = world.device("kiosk").start().await;
    for (name, _) in FORMS {
        let request = v1::SendMessageRequest {
            text: format!("make {name}"),
            model: name.to_owned(),
            ..Default::default()
        };
        let answer = world.admin().send(request).await;
        let ends: Vec<_> = answer.calls.iter().map(orion_tests::Call::end).collect();
        assert_eq!(ends, [(CallState::Succeeded, None)], "{name}: {answer:?}");
        assert_eq!(answer.text, "Klaar.", "{name}: {answer:?}");
        assert!(kiosk.tree().contains_key(name), "{name}");
    }
}
