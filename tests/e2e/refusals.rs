//! Each way in which a call is refused: its code, who refused, and that nothing happened.

use std::os::unix::fs::symlink;

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Call, World, audit_of};
use orion_wire::v1;
use serde_json::{Value, json};

/// Holds a refusal to its code and state, and to having been audited.
async fn assert_refused(world: &World, call: &Call, state: CallState, code: ErrorCode) {
    assert_eq!(call.end(), (state, Some(code)), "{call:?}");
    let kinds: Vec<_> =
        audit_of(world.admin(), &call.id).await.into_iter().map(|row| row.kind).collect();
    assert_eq!(kinds, ["call.opened", "call.closed"], "{call:?}");
}

/// What a refusal says, for people.
fn said(world: &World, call: &Call) -> String {
    let text = serde_json::to_string_pretty(call.error()).unwrap();
    world.seen().in_text(&text)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_unknown_tool_is_not_found_and_near_ones_are_suggested() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let call = world.admin().call("kiosk", "create_dirctory", json!({"path": "x"})).await;
    assert_refused(&world, &call, CallState::Denied, ErrorCode::ToolNotFound).await;
    insta::assert_snapshot!(said(&world, &call));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_argument_of_the_wrong_type_is_listed() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let arguments = json!({"path": 7, "content": ["x"], "append": "yes", "colour": "red"});
    let call = world.admin().call("kiosk", "write_file", arguments).await;
    assert_refused(&world, &call, CallState::Denied, ErrorCode::InvalidArgument).await;
    insta::assert_snapshot!(said(&world, &call));
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn arguments_that_are_no_object_never_become_a_call() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    for arguments in ["[]", "7", "{\"path\": ", "", "\u{0}"] {
        let request = v1::CallToolRequest {
            tool: "create_directory".to_owned(),
            device: "kiosk".to_owned(),
            arguments: arguments.as_bytes().to_vec().into(),
            ..Default::default()
        };
        match world.admin().ask(request).await {
            Err(status) => assert_eq!(status.code(), tonic::Code::InvalidArgument, "{arguments:?}"),
            Ok(call) => assert_eq!(call.error().code, ErrorCode::InvalidArgument, "{arguments:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_is_missing_is_not_found() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let call = world.admin().call("kiosc", "get_datetime", json!({})).await;
    assert_refused(&world, &call, CallState::Denied, ErrorCode::DeviceNotFound).await;
    assert_eq!(call.error().suggestions(), ["kiosk"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_one_device_none_need_be_named_and_with_two_one_must() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let only = world.admin().call("", "get_datetime", json!({})).await;
    assert_eq!(only.end(), (CallState::Succeeded, None));

    let _laptop = world.device("laptop").start().await;
    let call = world.admin().call("", "get_datetime", json!({})).await;
    assert_refused(&world, &call, CallState::Denied, ErrorCode::DeviceRequired).await;
    let mut names = call.error().suggestions().to_vec();
    names.sort();
    assert_eq!(names, ["kiosk", "laptop"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn paths_outside_are_refused_however_they_are_written() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let twin = kiosk.files().with_file_name("files2");
    std::fs::create_dir(&twin).unwrap();
    std::fs::write(twin.join("secret"), "s").unwrap();
    // The agent writes down what it does, and its policy a moment after it is connected.
    let all = || {
        let mut all = orion_tests::tree(world.folder().join("devices").as_path());
        all.retain(|name, _| name != "kiosk/agent.log" && !name.contains("policy.json"));
        all
    };
    let before = all();
    let outside = [
        "/etc/passwd".to_owned(),
        "/".to_owned(),
        format!("{}/secret", twin.display()),
        kiosk.path("../files2/secret"),
        "../files2/secret".to_owned(),
        kiosk.path("a/../../files2/secret"),
        format!("//etc//{}", "passwd"),
        "/proc/self/environ".to_owned(),
        kiosk.state_dir().join("key.pem").display().to_string(),
    ];
    for path in &outside {
        for (tool, more) in [("read_file", json!({})), ("write_file", json!({"content": "x"}))] {
            let mut arguments = more;
            arguments["path"] = json!(path);
            let call = world.admin().call("kiosk", tool, arguments).await;
            assert_refused(&world, &call, CallState::Denied, ErrorCode::PathNotAllowed).await;
        }
    }
    assert_eq!(all(), before);
    assert_eq!(std::fs::read_to_string(twin.join("secret")).unwrap(), "s");

    let call = world.admin().call("kiosk", "read_file", json!({"path": "/etc/passwd"})).await;
    insta::assert_snapshot!(said(&world, &call));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_that_is_none_is_refused_as_one() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for path in ["a\u{0}b", ""] {
        let call = world.admin().call("kiosk", "create_directory", json!({"path": path})).await;
        assert_refused(&world, &call, CallState::Denied, ErrorCode::InvalidPath).await;
    }
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_link_that_leaves_is_refused_by_the_device() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let outside = world.folder().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "s").unwrap();
    symlink(&outside, kiosk.files().join("link")).unwrap();
    symlink(outside.join("secret"), kiosk.files().join("file")).unwrap();
    symlink("../../../outside/secret", kiosk.files().join("relative")).unwrap();
    let attempts: [(&str, Value); 6] = [
        ("read_file", json!({"path": "link/secret"})),
        ("read_file", json!({"path": "file"})),
        ("read_file", json!({"path": "relative"})),
        ("write_file", json!({"path": "link/new", "content": "x"})),
        ("create_directory", json!({"path": "link/new"})),
        ("list_directory", json!({"path": "link"})),
    ];
    for (tool, arguments) in attempts {
        let call = world.admin().call("kiosk", tool, arguments).await;
        assert_refused(&world, &call, CallState::Refused, ErrorCode::PathNotAllowed).await;
    }
    // There or not there: the same words, so that nobody learns what is outside.
    let here = world.admin().call("kiosk", "read_file", json!({"path": "link/secret"})).await;
    let gone = world.admin().call("kiosk", "read_file", json!({"path": "link/secreu"})).await;
    let words = |call: &Call| call.error().message.replace("secreu", "secret");
    assert_eq!(words(&here), words(&gone));
    let there = orion_tests::tree(&outside);
    assert_eq!(there, orion_tests::Tree::from([("secret".to_owned(), Some("s".to_owned()))]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tool_that_is_not_granted_is_denied_before_its_arguments_are_looked_at() {
    let world = World::new().await;
    let grants = json!({"tools": ["read_file"], "paths": ["{files}"]});
    let kiosk = world.device("kiosk").grant(grants).start().await;
    let wrong = json!({"path": 7, "nonsense": true});
    let call = world.admin().call("kiosk", "write_file", wrong).await;
    assert_refused(&world, &call, CallState::Denied, ErrorCode::PermissionDenied).await;
    insta::assert_snapshot!(said(&world, &call));
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_grants_grant_nothing() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").grant(json!({})).start().await;
    for (tool, arguments) in [
        ("get_datetime", json!({})),
        ("list_directory", json!({})),
        ("create_directory", json!({"path": "x"})),
    ] {
        let call = world.admin().call("kiosk", tool, arguments).await;
        assert_refused(&world, &call, CallState::Denied, ErrorCode::PermissionDenied).await;
    }
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_path_lent_for_reading_is_not_written() {
    let world = World::new().await;
    let grants = json!({"profile": "operator", "paths": [{"path": "{files}", "access": ["read"]}]});
    let kiosk = world.device("kiosk").grant(grants).start().await;
    kiosk.write_file("a.txt", "a");
    let arguments = json!({"path": "a.txt", "content": "b"});
    let call = world.admin().call("kiosk", "write_file", arguments).await;
    assert_refused(&world, &call, CallState::Denied, ErrorCode::PathNotAllowed).await;
    let read = world.admin().call("kiosk", "read_file", json!({"path": "a.txt"})).await;
    assert_eq!(read.data()["content"], "a");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_only_device_is_not_written() {
    let world = World::new().await;
    let grants = json!({"profile": "operator", "paths": ["{files}"], "read_only": true});
    let kiosk = world.device("kiosk").grant(grants).start().await;
    let call = world.admin().call("kiosk", "create_directory", json!({"path": "x"})).await;
    assert_refused(&world, &call, CallState::Denied, ErrorCode::WriteDisabled).await;
    assert!(kiosk.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_kept_out_stays_out_of_every_tool() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file(".ssh/id_ed25519", "key");
    kiosk.write_file("app/.env", "TOKEN=1");
    kiosk.write_file("app/main.py", "");
    for path in [".ssh/id_ed25519", "app/.env"] {
        let call = world.admin().call("kiosk", "read_file", json!({"path": path})).await;
        assert_refused(&world, &call, CallState::Denied, ErrorCode::PathNotAllowed).await;
    }
    let arguments = json!({"path": ".", "recursive": true});
    let list = world.admin().call("kiosk", "list_directory", arguments).await;
    let names: Vec<_> =
        list.data()["entries"].as_array().unwrap().iter().map(|e| e["name"].clone()).collect();
    assert_eq!(names, [json!("app"), json!("main.py")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_app_that_is_not_listed_is_not_opened() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let call = world.admin().call("kiosk", "open_app", json!({"app": "/bin/sh"})).await;
    assert_refused(&world, &call, CallState::Denied, ErrorCode::AppNotWhitelisted).await;
    insta::assert_snapshot!(said(&world, &call));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dangerous_call_needs_confirm_before_anybody_is_asked() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("old/a.txt", "");
    let before = kiosk.tree();
    let arguments = json!({"path": "old", "recursive": true});
    let call = world.admin().call("kiosk", "delete_directory", arguments).await;
    assert_refused(&world, &call, CallState::Denied, ErrorCode::ConfirmationRequired).await;
    assert_eq!(call.approval, None);
    assert_eq!(kiosk.tree(), before);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_viewer_reads_and_changes_nothing() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("a.txt", "a");
    let bob = world.person("bob", Role::Viewer).await;

    let read = bob.call("kiosk", "read_file", json!({"path": "a.txt"})).await;
    assert_eq!(read.data()["content"], "a");
    for (tool, arguments) in [
        ("create_directory", json!({"path": "x"})),
        ("write_file", json!({"path": "a.txt", "content": "b"})),
        ("delete_directory", json!({"path": "x", "confirm": true})),
    ] {
        let call = bob.call("kiosk", tool, arguments).await;
        assert_refused(&world, &call, CallState::Denied, ErrorCode::PermissionDenied).await;
        assert_eq!(call.error().details["layer"], "role");
    }
    let grants =
        v1::SetDevicePermissionsRequest { device: "kiosk".to_owned(), ..Default::default() };
    let refused = bob.policy().set_device_permissions(grants).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied);
    let refused = bob.audit().verify_audit(v1::VerifyAuditRequest::default()).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied);
    assert_eq!(kiosk.tree().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_person_cannot_look_at_anothers_calls() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let (ann, bob) =
        (world.person("ann", Role::Operator).await, world.person("bob", Role::Operator).await);
    let call = ann.call("kiosk", "get_datetime", json!({})).await;
    assert_eq!(bob.recorded(&call.id).await.unwrap_err().code(), tonic::Code::NotFound);
    assert_eq!(world.admin().recorded(&call.id).await.unwrap(), call);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gets_in_without_a_token_or_with_a_wrong_one() {
    let world = World::new().await;
    for token in ["", "orion_wrong", "x"] {
        let stranger = world.admin().with_token(token);
        let refused = stranger.tools().list_tools(v1::ListToolsRequest::default()).await;
        assert_eq!(refused.unwrap_err().code(), tonic::Code::Unauthenticated, "{token:?}");
    }
    let again = v1::CreateFirstAdminRequest {
        secret: "anything".to_owned(),
        user: "bob".to_owned(),
        password: String::new(),
    };
    let refused = world.admin().auth().create_first_admin(again).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::Unauthenticated);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_beyond_a_persons_pace_are_refused_and_counted() {
    let config = "[calls]\nper_person_per_second = 1\nburst_per_person = 3\n";
    let world = World::configured(config).await;
    let mut refused = 0;
    for _ in 0..20 {
        let request = v1::CallToolRequest {
            tool: "no_such_tool".to_owned(),
            device: "kiosk".to_owned(),
            arguments: b"{}".to_vec().into(),
            ..Default::default()
        };
        if let Err(status) = world.admin().ask(request).await {
            assert_eq!(status.code(), tonic::Code::ResourceExhausted, "{status:?}");
            assert!(status.message().contains("so this one was rejected"), "{status:?}");
            refused += 1;
        }
    }
    // A slow machine takes seconds for them, and a call more a second is let through.
    assert!(refused > 5, "{refused} of 20 were refused");
    world.server().stop().await;
    world.restart_server().await;
    let request = v1::ListAuditRequest { limit: 1000, ..Default::default() };
    let rows = world.admin().audit().list_audit(request).await.unwrap().into_inner().rows;
    let kinds = |kind: &str| rows.iter().filter(|row| row.kind == kind).count();
    assert_eq!(kinds("call.opened"), 20 - refused);
    let counted: u64 = rows
        .iter()
        .filter(|row| row.kind == "access.refused")
        .filter_map(|row| serde_json::from_str::<Value>(&row.body).unwrap()["count"].as_u64())
        .sum();
    assert_eq!(counted, refused as u64, "each refused call is counted");
}
