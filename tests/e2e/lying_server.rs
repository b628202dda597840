//! A backend that lies: its own checks are off, and the device alone stands between it and the disk.

mod owner;
mod widening;

use orion_domain::Risk;
use orion_tests::{Deceived, Link, LyingServer, Tree};
use orion_wire::v1;
use orion_wire::v1::link_request;
use serde_json::json;

const MODEST: &str = "[ceiling]\nprofile = \"operator\"\npaths = [\"{files}\"]\n";

/// A backend that lends far too much, and a device whose owner does not.
async fn deceive(config: &str) -> (LyingServer, Deceived, Link) {
    let server = LyingServer::start().await;
    let device = Deceived::start(&server, config).await;
    let mut link = server.link().await;
    let everything =
        json!({"profile": "developer", "paths": ["/", "/etc", "/root", "/proc"], "apps": ["sh"]});
    let ack = link.grant(everything).await;
    assert_eq!(ack.error, "", "a generous policy is a policy");
    (server, device, link)
}

fn refused(code: &str) -> (String, String) {
    ("refused".to_owned(), code.to_owned())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_honest_is_done() {
    let (_server, device, mut link) = deceive(MODEST).await;
    let order = link.order("create_directory", &json!({"path": device.path("Test")}));
    assert_eq!(link.dispatch(order).await, ("succeeded".to_owned(), String::new()));
    assert_eq!(device.tree(), Tree::from([("Test".to_owned(), None)]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_forbidden_path_is_refused_by_the_ceiling() {
    let (_server, device, mut link) = deceive(MODEST).await;
    std::os::unix::fs::symlink("/etc", device.files().join("etc")).unwrap();
    for path in ["/etc/passwd".to_owned(), device.path("../agent.toml"), device.path("etc/passwd")]
    {
        let order = link.order("read_file", &json!({"path": path}));
        let call_id = order.call_id.clone();
        link.send(v1::link_response::Message::Dispatch(order)).await;
        let (state, code, envelope) = link.answer_to(&call_id).await;
        assert_eq!((state, code), refused("PATH_NOT_ALLOWED"), "{path}");
        assert_eq!(envelope.unwrap().data, None);
    }
    let secret = device.state_dir().join("planted");
    let order = link.order("write_file", &json!({"path": secret, "content": "x"}));
    assert_eq!(link.dispatch(order).await, refused("PATH_NOT_ALLOWED"));
    assert!(!secret.exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_refusal_names_what_was_attempted_what_is_allowed_and_who_decides() {
    let (_server, device, mut link) = deceive(MODEST).await;
    let order = link.order("read_file", &json!({"path": "/etc/passwd"}));
    let call_id = order.call_id.clone();
    link.send(v1::link_response::Message::Dispatch(order)).await;
    let (_, _, envelope) = link.answer_to(&call_id).await;
    let error = envelope.unwrap().error.unwrap();
    let named = ["attempted_path", "allowed_paths", "layer", "changed_by"]
        .map(|name| error.details.get(name).cloned());
    assert_eq!(
        named,
        [
            Some(json!("/etc/passwd")),
            Some(json!([device.files()])),
            Some(json!("ceiling")),
            Some(json!("only the owner of the device, in agent.toml on the device")),
        ]
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_or_an_app_above_the_ceiling_is_refused() {
    let ceiling = "[ceiling]\ntools = [\"read_file\"]\npaths = [\"{files}\"]\n";
    let (_server, device, mut link) = deceive(ceiling).await;
    let order = link.order("create_directory", &json!({"path": device.path("x")}));
    assert_eq!(link.dispatch(order).await, refused("PERMISSION_DENIED"));
    let order = link.order("open_app", &json!({"app": "sh"}));
    assert_eq!(link.dispatch(order).await, refused("PERMISSION_DENIED"));
    let (_server, _device, mut link) = deceive(MODEST).await;
    let order = link.order("open_app", &json!({"app": "sh"}));
    assert_eq!(link.dispatch(order).await, refused("APP_NOT_WHITELISTED"));
    assert!(device.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replayed_call_is_answered_from_memory_and_not_run_again() {
    let (server, mut device, mut link) = deceive(MODEST).await;
    let arguments = json!({"path": device.path("log"), "content": "once\n", "append": true});
    let order = link.order("write_file", &arguments);
    let once = Tree::from([("log".to_owned(), Some("once\n".to_owned()))]);
    for _ in 0..3 {
        assert_eq!(link.dispatch(order.clone()).await.0, "succeeded");
        assert_eq!(device.tree(), once);
    }
    // Nor after the device has died, whether or not the answer was acknowledged.
    for acknowledged in [false, true] {
        if acknowledged {
            let call_id = order.call_id.clone();
            link.send(v1::link_response::Message::ResultAck(v1::ResultAck {
                call_id,
                audit: None,
                state: 0,
            }))
            .await;
            // The next answer shows that the acknowledgement was heard.
            let other = link.order("list_directory", &json!({"path": device.files()}));
            assert_eq!(link.dispatch(other).await.0, "succeeded");
        }
        device.kill9_and_restart().await;
        link = server.link().await;
        link.grant(json!({"profile": "operator", "paths": ["/"]})).await;
        link.send(v1::link_response::Message::Dispatch(order.clone())).await;
        // Another call after it, to be sure that this one was dealt with.
        let other = link.order("list_directory", &json!({"path": device.files()}));
        assert_eq!(link.dispatch(other).await.0, "succeeded");
        assert_eq!(device.tree(), once);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_for_another_device_is_refused() {
    let (_server, device, mut link) = deceive(MODEST).await;
    let order = link.order("create_directory", &json!({"path": device.path("x")}));
    let elsewhere = v1::Dispatch { device_id: uuid::Uuid::now_v7().to_string(), ..order };
    assert_eq!(link.dispatch(elsewhere).await, refused("PERMISSION_DENIED"));
    assert!(device.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_whose_time_is_over_is_not_begun() {
    let (_server, device, mut link) = deceive(MODEST).await;
    let order = link.order("create_directory", &json!({"path": device.path("x")}));
    let over = v1::Dispatch { time_left_ms: 0, ..order };
    assert_eq!(link.dispatch(over).await, ("timed_out".to_owned(), "TIMEOUT".to_owned()));
    assert!(device.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_that_are_not_in_their_one_form_are_not_run() {
    let (_server, device, mut link) = deceive(MODEST).await;
    let path = device.path("x");
    let forms = [
        // Another order, another spacing, a default left out, a key twice, a key more, no object.
        format!(r#"{{"path":"{path}","parents":false}}"#),
        format!(r#"{{"parents":false, "path":"{path}"}}"#),
        format!(r#"{{"path":"{path}"}}"#),
        format!(r#"{{"parents":false,"path":"/etc/x","path":"{path}"}}"#),
        format!(r#"{{"more":1,"parents":false,"path":"{path}"}}"#),
        "[]".to_owned(),
        "\u{0}".to_owned(),
    ];
    let honest = link.order("list_directory", &json!({"path": device.files()}));
    for form in forms {
        let order = link.order("create_directory", &json!({"path": path}));
        if order.arguments[..] == *form.as_bytes() {
            continue;
        }
        let tampered = v1::Dispatch { arguments: form.clone().into_bytes().into(), ..order };
        link.send(v1::link_response::Message::Dispatch(tampered)).await;
    }
    // Whatever is said of them comes before the answer to this one.
    link.send(v1::link_response::Message::Dispatch(honest.clone())).await;
    loop {
        match link.receive().await {
            Some(link_request::Message::CallResult(result)) if result.call_id == honest.call_id => {
                assert_eq!(result.code, "");
                break;
            }
            Some(link_request::Message::CallResult(result)) => {
                assert_eq!(result.state(), v1::CallState::Refused, "{result:?}");
            }
            Some(_) => {}
            None => panic!("the device left"),
        }
    }
    assert!(device.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dangerous_call_needs_a_persons_yes_to_exactly_it_and_unused() {
    let (_server, device, mut link) = deceive(MODEST).await;
    for folder in ["one", "two", "three"] {
        std::fs::create_dir(device.files().join(folder)).unwrap();
    }
    let untouched = device.tree();
    let delete = |link: &Link, name: &str, device: &Deceived| {
        let arguments = json!({"path": device.path(name), "recursive": true, "confirm": true});
        link.order("delete_directory", &arguments)
    };

    // None at all; also where the backend says that the risk is low.
    let order = delete(&link, "one", &device);
    let harmless = v1::Dispatch { risk: Link::risk(Risk::Low), ..order.clone() };
    assert_eq!(link.dispatch(order).await, refused("APPROVAL_REQUIRED"));
    let harmless = v1::Dispatch { call_id: uuid::Uuid::now_v7().to_string(), ..harmless };
    assert_eq!(link.dispatch(harmless).await, refused("APPROVAL_REQUIRED"));

    // For another folder, for another caller, and one that is only made up.
    let (order, other) = (delete(&link, "one", &device), delete(&link, "two", &device));
    let approval = Some(link.approval_of(&other));
    assert_eq!(
        link.dispatch(v1::Dispatch { approval, ..order }).await,
        refused("APPROVAL_REQUIRED")
    );
    let order = delete(&link, "one", &device);
    let by_bob = v1::Dispatch { user: "bob".to_owned(), ..order.clone() };
    let approval = Some(link.approval_of(&by_bob));
    assert_eq!(
        link.dispatch(v1::Dispatch { approval, ..order }).await,
        refused("APPROVAL_REQUIRED")
    );
    let order = delete(&link, "one", &device);
    let mut made_up = link.approval_of(&order);
    made_up.binding = vec![7; 32].into();
    assert_eq!(
        link.dispatch(v1::Dispatch { approval: Some(made_up), ..order }).await,
        refused("APPROVAL_REQUIRED")
    );
    assert_eq!(device.tree(), untouched);

    // The right one runs, and then is spent: also with the binding of another call.
    let order = delete(&link, "one", &device);
    let approval = link.approval_of(&order);
    let approved = v1::Dispatch { approval: Some(approval.clone()), ..order };
    assert_eq!(link.dispatch(approved).await.0, "succeeded");
    let order = delete(&link, "two", &device);
    let again = v1::ApprovalProof { approval_id: approval.approval_id, ..link.approval_of(&order) };
    assert_eq!(
        link.dispatch(v1::Dispatch { approval: Some(again), ..order }).await,
        refused("APPROVAL_REQUIRED")
    );
    let left: Vec<_> = device.tree().into_keys().collect();
    assert_eq!(left, ["three", "two"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_policy_cannot_carry_a_ceiling_and_the_one_before_holds() {
    let (_server, device, mut link) = deceive(MODEST).await;
    let wider = json!({
        "grants": {"profile": "developer", "paths": ["/"]},
        "ceiling": {"profile": "developer", "paths": ["/", "/etc"]},
    });
    let ack = link.policy(wider.to_string().into_bytes()).await;
    assert!(ack.error.contains("ceiling"), "{ack:?}");
    for garbage in ["", "[]", "{", "{\"grants\":7}", "{\"grants\":{\"ceiling\":{}}}"] {
        let ack = link.policy(garbage.as_bytes().to_vec()).await;
        assert_ne!(ack.error, "", "{garbage} was taken as a policy");
    }
    let order = link.order("read_file", &json!({"path": "/etc/passwd"}));
    assert_eq!(link.dispatch(order).await, refused("PATH_NOT_ALLOWED"));
    let order = link.order("create_directory", &json!({"path": device.path("x")}));
    assert_eq!(link.dispatch(order).await.0, "succeeded");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_policy_everything_is_refused() {
    let server = LyingServer::start().await;
    let device = Deceived::start(&server, MODEST).await;
    let mut link = server.link().await;
    for (tool, arguments) in
        [("create_directory", json!({"path": device.path("x")})), ("get_datetime", json!({}))]
    {
        let order = link.order(tool, &arguments);
        assert_eq!(link.dispatch(order).await, refused("PERMISSION_DENIED"), "{tool}");
    }
    assert!(device.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_tool_or_an_alias_is_refused() {
    let (_server, _device, mut link) = deceive(MODEST).await;
    for tool in ["no_such_tool", "shell", "get_system_time", "", "../create_directory"] {
        let order = link.order("get_datetime", &json!({}));
        let order = v1::Dispatch { tool: tool.to_owned(), ..order };
        assert_eq!(link.dispatch(order).await, refused("TOOL_NOT_FOUND"), "{tool:?}");
    }
}
