//! Tools that run on the backend: calls to the target `backend`, with grants, rules, approvals and audit like
//! those of any device.

mod memory;
mod reserved;
mod tools;
mod web_requests;

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Deceived, LyingServer, World, audit_of};
use orion_wire::v1;
use serde_json::{Value, json};

/// Sets the grants of the backend.
async fn grant(world: &World, grants: Value) {
    let request = v1::SetDevicePermissionsRequest {
        device: "backend".to_owned(),
        grants: grants.to_string(),
        ..Default::default()
    };
    world.admin().policy().set_device_permissions(request).await.unwrap();
}

/// Returns a request to calculate, with no device named.
fn calculating(expression: &str) -> v1::CallToolRequest {
    v1::CallToolRequest {
        tool: "calculate".to_owned(),
        arguments: json!({"expression": expression}).to_string().into_bytes().into(),
        ..Default::default()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_granted_call_runs_and_is_in_the_audit_opened_and_closed() {
    let world = World::new().await;
    let call = world.admin().call("backend", "calculate", json!({"expression": "12*7"})).await;
    assert_eq!(call.data(), &json!({"expression": "12*7", "result": "84", "exact": true}));
    let meta = call.envelope.clone().unwrap().meta;
    assert_eq!((meta.device.as_str(), meta.tool.as_str()), ("backend", "calculate"));
    let rows = audit_of(world.admin(), &call.id).await;
    let kinds: Vec<_> = rows.iter().map(|row| row.kind.as_str()).collect();
    assert_eq!(kinds, ["call.opened", "call.closed"]);
    let opened: Value = serde_json::from_str(&rows.first().unwrap().body).unwrap();
    assert_eq!((&opened["device"], &opened["decision"]), (&json!("backend"), &json!("allow")));
    // A tool without effects has no preview: a dry run of it is a call.
    let dry = world.admin().dry_run("backend", "calculate", json!({"expression": "1+1"})).await;
    assert_eq!(dry.data()["result"], "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_names_no_device_goes_to_the_backend_however_many_devices_there_are() {
    let world = World::new().await;
    let none = world.admin().ask(calculating("2**10")).await.unwrap();
    assert_eq!(none.data()["result"], "1024");
    let _kiosk = world.device("kiosk").start().await;
    // The only device is meant by a tool of devices, and the backend is no second one.
    let clock = v1::CallToolRequest { tool: "get_datetime".to_owned(), ..calculating("") };
    let clock = v1::CallToolRequest { arguments: "{}".as_bytes().into(), ..clock };
    let clock = world.admin().ask(clock).await.unwrap();
    assert_eq!(clock.envelope.as_ref().unwrap().meta.device, "kiosk", "{clock:?}");
    let _other = world.device("other").start().await;
    let two = world.admin().ask(calculating("3**3")).await.unwrap();
    assert_eq!(two.data()["result"], "27");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_granted_on_the_backend_is_denied_and_why_says_so() {
    let world = World::new().await;
    let denied = world.admin().call("backend", "get_audit_log", json!({})).await;
    assert_eq!(denied.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)), "{denied:?}");
    grant(&world, json!({"tools": ["list_devices"]})).await;
    let denied = world.admin().ask(calculating("1+1")).await.unwrap();
    assert_eq!(denied.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)), "{denied:?}");
    let why = world.cli().run(&["why", "backend", "calculate", "expression=1+1"]).await;
    let shown = format!("{}{}", why.stdout, why.stderr);
    assert!(shown.contains("calculate") && shown.contains("backend"), "{why:?}");
    let explain = v1::CallToolRequest { explain: true, ..calculating("1+1") };
    let explained = world.admin().tools().call_tool(explain).await.unwrap().into_inner();
    let said: Value = serde_json::from_slice(&explained.call.unwrap().result).unwrap();
    assert_eq!(said["decision"], "deny", "{said}");
    grant(&world, json!({"tools": ["calculate"]})).await;
    let explain = v1::CallToolRequest { explain: true, ..calculating("1+1") };
    let explained = world.admin().tools().call_tool(explain).await.unwrap().into_inner();
    let said: Value = serde_json::from_slice(&explained.call.unwrap().result).unwrap();
    assert_eq!(said["decision"], "allow", "{said}");
    assert_eq!(world.admin().ask(calculating("1+1")).await.unwrap().data()["result"], "2");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rule_of_the_policy_file_asks_and_the_approved_call_runs() {
    let world = World::new().await;
    let text = "version: 1\ndevices:\n  backend: { tools: [calculate] }\nrules:\n  \
                - { id: ask-first, tools: [calculate], devices: backend, action: ask, because: \"A test.\", \
                examples: { match: [\"calculate expression=1 device=backend\"] } }\n";
    let file = world.folder().join("policy.yaml").display().to_string();
    std::fs::write(&file, text).unwrap();
    for words in [&["policy", "check", &file][..], &["policy", "apply", &file, "--yes"]] {
        let done = world.cli().run(words).await;
        assert_eq!(done.code, 0, "{done:?}");
        assert!(!done.stderr.contains("No device backend"), "{done:?}");
    }
    let shown = world.cli().run(&["policy", "show"]).await;
    assert!(shown.stdout.contains("backend"), "{shown:?}");

    let asked = world.admin().ask(calculating("6*7")).await.unwrap();
    let approval = asked.approval_id().to_owned();
    world.admin().decide(&approval, true, "").await.unwrap();
    let done = world.admin().ended(&asked.id).await.unwrap();
    assert_eq!(done.data()["result"], "42");
    let rows = audit_of(world.admin(), &asked.id).await;
    let kinds: Vec<_> = rows.iter().map(|row| row.kind.as_str()).collect();
    assert_eq!(
        kinds,
        ["call.opened", "approval.asked", "approval.decided", "approval.used", "call.closed"]
    );
    let denied = world.admin().call("backend", "list_devices", json!({})).await;
    assert_eq!(denied.state, CallState::Denied, "the file is the whole truth: {denied:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_to_the_wrong_target_is_refused_and_the_right_one_is_named() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "1");
    let cases = [
        (
            "kiosk",
            "calculate",
            json!({"expression": "1"}),
            "calculate runs on the backend",
            "`backend`",
        ),
        (
            "backend",
            "read_file",
            json!({"path": "a.txt"}),
            "read_file runs on a device",
            "a device",
        ),
    ];
    for (target, tool, arguments, message, hint) in cases {
        let refused = world.admin().call(target, tool, arguments).await;
        assert_eq!(refused.error().code, ErrorCode::NotSupported, "{refused:?}");
        assert!(refused.error().message.contains(message), "{refused:?}");
        let hints = &refused.error().hints;
        assert!(hints.iter().any(|it| it.to_string().contains(hint)), "{refused:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_refuses_a_tool_of_the_backend_by_its_own_check() {
    let server = LyingServer::start().await;
    let _device = Deceived::start(&server, "[ceiling]\ntools = [\"calculate\"]\n").await;
    let mut link = server.link().await;
    link.grant(json!({"tools": ["calculate"]})).await;
    let order = link.order("calculate", &json!({"expression": "1+1"}));
    let (state, code) = link.dispatch(order).await;
    assert_eq!((state.as_str(), code.as_str()), ("failed", "NOT_SUPPORTED"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_backend_dies_under_its_own_calls_and_each_comes_to_an_end() {
    const CALLS: usize = 60;
    let world = World::configured("[calls]\nin_flight_per_device = 100\n").await;
    let keyed = |number: usize| v1::CallToolRequest {
        device: "backend".to_owned(),
        idempotency_key: format!("key-{number}"),
        ..calculating(&format!("{number}*2"))
    };
    let (sender, mut ended) = tokio::sync::mpsc::unbounded_channel();
    let calling: Vec<_> = (0..CALLS)
        .map(|number| {
            let (admin, sender, request) = (world.admin().clone(), sender.clone(), keyed(number));
            tokio::spawn(async move {
                if admin.ask(request).await.is_ok() {
                    sender.send(()).ok();
                }
            })
        })
        .collect();
    ended.recv().await.unwrap();
    world.server().kill9().await;
    for call in calling {
        call.await.unwrap();
    }
    world.restart_server().await;
    for number in 0..CALLS {
        let call = world.admin().ask(keyed(number)).await.unwrap();
        match call.end() {
            (CallState::Succeeded, None) => {
                assert_eq!(call.data()["result"], (number * 2).to_string());
            }
            // It was open when the backend died.
            (state, code) => {
                assert_eq!(
                    (state, code),
                    (CallState::Failed, Some(ErrorCode::Internal)),
                    "{call:?}"
                );
            }
        }
    }
    let open = v1::ListCallsRequest { open: true, ..Default::default() };
    let open = world.admin().tools().list_calls(open).await.unwrap().into_inner().calls;
    assert!(open.is_empty(), "{open:?}");
}
