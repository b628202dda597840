//! The owner's word while a backend that lies is connected: it counts at once, whatever is granted.

use orion_domain::RiskRaise;
use orion_tests::{Deceived, Link, LyingServer, eventually};
use orion_wire::v1;
use orion_wire::v1::link_request;
use serde_json::json;

use super::{MODEST, deceive, refused};

/// What the device says next of its ceiling.
async fn told(link: &mut Link) -> v1::CeilingUpdate {
    loop {
        match link.receive().await {
            Some(link_request::Message::CeilingUpdate(update)) => return update,
            Some(_) => {}
            None => panic!("the device left"),
        }
    }
}

fn files(device: &Deceived) -> String {
    device.files().display().to_string()
}

fn rewrite(device: &Deceived, text: &str) {
    let text = text.replace("{files}", &files(device));
    std::fs::write(device.config(), text).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_narrower_ceiling_holds_though_the_backend_does_not_listen() {
    let (_server, device, mut link) = deceive(MODEST).await;
    rewrite(&device, "[ceiling]\nprofile = \"reader\"\npaths = [\"{files}\"]\n");
    let update = told(&mut link).await;
    assert!(String::from_utf8_lossy(&update.ceiling).contains("reader"), "{update:?}");
    assert_eq!((update.fault, update.workspace), (String::new(), files(&device)));
    let order = link.order("create_directory", &json!({"path": device.path("x")}));
    assert_eq!(link.dispatch(order).await, refused("PERMISSION_DENIED"));
    let order = link.order("list_directory", &json!({"path": device.files()}));
    assert_eq!(link.dispatch(order).await.0, "succeeded");
    assert!(device.tree().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn until_the_backend_heard_of_a_workspace_relative_paths_mean_nothing() {
    let (_server, device, mut link) = deceive(MODEST).await;
    std::fs::create_dir(device.files().join("inner")).unwrap();
    rewrite(&device, "[ceiling]\nprofile = \"operator\"\npaths = [\"{files}/inner\"]\n");
    let v1::CeilingUpdate { number, workspace, .. } = told(&mut link).await;
    assert_eq!(workspace, device.path("inner"));
    let relative = link.order("create_directory", &json!({"path": "x"}));
    assert_eq!(link.dispatch(relative).await, refused("PATH_NOT_ALLOWED"));
    let ack = |number| v1::link_response::Message::CeilingAck(v1::CeilingAck { number });
    link.send(ack(number + 1)).await;
    let relative = link.order("create_directory", &json!({"path": "x"}));
    assert_eq!(link.dispatch(relative).await, refused("PATH_NOT_ALLOWED"));
    link.send(ack(number)).await;
    let relative = link.order("create_directory", &json!({"path": "x"}));
    assert_eq!(link.dispatch(relative).await.0, "succeeded");
    assert!(device.files().join("inner/x").is_dir());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_others_may_write_widens_nothing_and_one_that_is_gone_leaves_nothing() {
    use std::os::unix::fs::PermissionsExt as _;
    let (_server, device, mut link) = deceive(MODEST).await;
    std::fs::set_permissions(device.config(), std::fs::Permissions::from_mode(0o666)).unwrap();
    let update = told(&mut link).await;
    assert!(update.fault.contains("may be written by everybody"), "{update:?}");
    rewrite(&device, "[ceiling]\nprofile = \"developer\"\npaths = [\"/\", \"/etc\"]\n");
    assert!(told(&mut link).await.fault.contains("may be written by everybody"));
    let order = link.order("read_file", &json!({"path": "/etc/passwd"}));
    assert_eq!(link.dispatch(order).await, refused("PATH_NOT_ALLOWED"));
    let order = link.order("create_directory", &json!({"path": device.path("x")}));
    assert_eq!(link.dispatch(order).await.0, "succeeded");
    std::fs::remove_file(device.config()).unwrap();
    assert!(told(&mut link).await.fault.contains("is missing"));
    for (tool, arguments) in
        [("list_directory", json!({"path": device.files()})), ("get_datetime", json!({}))]
    {
        let order = link.order(tool, &arguments);
        assert_eq!(link.dispatch(order).await, refused("PERMISSION_DENIED"), "{tool}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_changed_while_nobody_was_connected_is_in_the_greeting() {
    let server = LyingServer::start().await;
    let mut device = Deceived::start(&server, MODEST).await;
    drop(server.link().await);
    rewrite(&device, "[ceiling]\nprofile = \"reader\"\npaths = []\n");
    device.kill9_and_restart().await;
    // The agent that was killed may have connected once more.
    while !server.link().await.hello.ceiling.starts_with(b"{\"profile\":\"reader\"") {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_ends_the_pause_of_the_owner() {
    let (_server, device, mut link) = deceive(MODEST).await;
    let pausing = device.agent_command(&["pause"]);
    assert_eq!(pausing.exit_code().await, 0, "{}", pausing.log());
    let update = told(&mut link).await;
    assert!(update.pause.is_some(), "{update:?}");
    let ack = v1::CeilingAck { number: update.number };
    link.send(v1::link_response::Message::CeilingAck(ack)).await;
    link.grant(json!({"profile": "developer", "paths": ["/"]})).await;
    let order = link.order("create_directory", &json!({"path": device.path("x")}));
    let other = link.order("create_directory", &json!({"path": device.path("x")}));
    let approved = v1::Dispatch { approval: Some(link.approval_of(&other)), ..other };
    let preview = link.order("create_directory", &json!({"path": device.path("x")}));
    let preview = v1::Dispatch { dry_run: true, ..preview };
    for order in [order, approved, preview] {
        assert_eq!(link.dispatch(order).await, refused("DEVICE_PAUSED"));
    }
    assert!(device.tree().is_empty());
}

/// Runs a command of the agent at the device.
async fn at_device(device: &Deceived, words: &[&str]) -> i32 {
    device.agent_command(words).exit_code().await
}

/// Returns the names of the questions that wait on a device.
fn questions(device: &Deceived) -> Vec<String> {
    let entries = std::fs::read_dir(device.state_dir().join("consent")).into_iter().flatten();
    let names = entries.flatten().map(|entry| entry.file_name().into_string().unwrap());
    names.filter_map(|name| name.strip_suffix(".json").map(ToOwned::to_owned)).collect()
}

const ASKS: &str = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n\n[consent]\ntools = [\"delete_file\", \"read_file\"]\nrisk = \"critical\"\n";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_message_replaces_the_answer_of_the_person_at_the_device() {
    let (_server, device, mut link) = deceive(ASKS).await;
    std::fs::write(device.files().join("a"), "keep").unwrap();
    let arguments = json!({"path": device.path("a"), "confirm": true});
    let order = link.order("delete_file", &arguments);
    let approval = Some(link.approval_of(&order));
    let order = v1::Dispatch { approval, ..order };
    let call_id = order.call_id.clone();
    link.send(v1::link_response::Message::Dispatch(order.clone())).await;
    let asked = eventually("the question", async || questions(&device).pop()).await;
    // Neither the call again, nor a query, nor other grants, nor an acknowledgement.
    link.send(v1::link_response::Message::Dispatch(order)).await;
    let query = v1::CallQuery { call_ids: vec![call_id.clone()] };
    link.send(v1::link_response::Message::CallQuery(query)).await;
    link.grant(json!({"profile": "developer", "paths": ["/"]})).await;
    let ack = v1::ResultAck { call_id: call_id.clone(), audit: None, state: 0 };
    link.send(v1::link_response::Message::ResultAck(ack)).await;
    let other = link.order("list_directory", &json!({"path": device.files()}));
    assert_eq!(link.dispatch(other).await.0, "succeeded");
    assert_eq!(questions(&device), std::slice::from_ref(&asked));
    assert_eq!(at_device(&device, &["consent", "deny", &asked]).await, 0);
    let (state, code, _) = link.answer_to(&call_id).await;
    assert_eq!((state, code), refused("APPROVAL_REJECTED"));
    // The preview of a read would be the read.
    let read = link.order("read_file", &json!({"path": device.path("a")}));
    let read = v1::Dispatch { dry_run: true, ..read };
    let call_id = read.call_id.clone();
    link.send(v1::link_response::Message::Dispatch(read)).await;
    let asked = eventually("the question", async || questions(&device).pop()).await;
    assert_eq!(at_device(&device, &["consent", "deny", &asked]).await, 0);
    let (state, code, envelope) = link.answer_to(&call_id).await;
    assert_eq!((state, code), refused("APPROVAL_REJECTED"));
    assert_eq!(envelope.unwrap().data, None);
    assert_eq!(std::fs::read_to_string(device.files().join("a")).unwrap(), "keep");
}

/// Writes a script that tries to answer, to read and to resume, and returns its path.
fn attack(device: &Deceived) -> String {
    use std::os::unix::fs::PermissionsExt as _;
    let text = format!(
        "#!/bin/sh\nstate='{}'\ncd '{}'\n\
         cat \"$state\"/consent/* \"$state\"/* >stolen\n\
         for question in \"$state\"/consent/*; do echo '{{}}' >\"${{question%.json}}.answer\"; ln own.sh \"${{question%.json}}.answer\"; done\n\
         echo x >\"$state/consent/00000000.answer\"\nrm \"$state/paused.json\"\nmv \"$state/consent\" \"$state/other\"\ntrue\n",
        device.state_dir().display(),
        device.files().display(),
    );
    let path = device.files().join("own.sh");
    std::fs::write(&path, text).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path.display().to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_program_and_no_tool_answers_for_the_person_at_the_device() {
    let around = std::env::temp_dir().display().to_string();
    // The ceiling of the second device grants a folder that holds the agent's own files.
    for (granted, ends) in [
        ("{files}", ("succeeded".to_owned(), String::new())),
        (&around, refused("PATH_NOT_ALLOWED")),
    ] {
        let (_server, device, mut link) = deceive(&ASKS.replace("{files}", granted)).await;
        let script = attack(&device);
        std::fs::write(device.files().join("a"), "keep").unwrap();
        let order = link.order("delete_file", &json!({"path": device.path("a"), "confirm": true}));
        let approval = Some(link.approval_of(&order));
        let order = v1::Dispatch { approval, ..order };
        let call_id = order.call_id.clone();
        link.send(v1::link_response::Message::Dispatch(order)).await;
        let asked = eventually("the question", async || questions(&device).pop()).await;

        let folder = if granted == "{files}" { device.files() } else { device.files().join("..") };
        let folder = std::fs::canonicalize(folder).unwrap();
        let arguments = json!({"command": script, "workdir": folder, "confirm": true});
        let order = link.order("execute_command", &arguments);
        let raises = [RiskRaise::ReachesDenied, RiskRaise::StartsPrograms];
        let approval = Some(link.approval_with(&order, &raises));
        let ran = order.call_id.clone();
        let order = v1::Dispatch { approval, ..order };
        link.send(v1::link_response::Message::Dispatch(order)).await;
        let (ended, code, envelope) = link.answer_to(&ran).await;
        assert_eq!((ended, code), ends, "{granted}: {envelope:?}");
        let message = envelope.unwrap().message;
        let is_kept_out = message.contains("holds files of the agent itself");
        assert_eq!(is_kept_out, granted != "{files}", "{message}");
        let state = device.state_dir();
        let answer = state.join("consent").join(format!("{asked}.answer"));
        let question = state.join("consent").join(format!("{asked}.json"));
        for (tool, arguments) in [
            ("write_file", json!({"path": answer, "content": "{}"})),
            ("copy_path", json!({"source": device.path("a"), "destination": answer})),
            ("read_file", json!({"path": question})),
        ] {
            let order = link.order(tool, &arguments);
            assert_eq!(link.dispatch(order).await, refused("PATH_NOT_ALLOWED"), "{tool}");
        }
        let there = std::fs::read_dir(state.join("consent")).unwrap().flatten();
        let there: Vec<_> = there.map(|it| it.path()).collect();
        assert_eq!(there, [question], "{granted}");
        let stolen = std::fs::read_to_string(device.files().join("stolen")).unwrap_or_default();
        assert_eq!(stolen, "");
        assert_eq!(at_device(&device, &["consent", "deny", &asked]).await, 0);
        let (state, code, _) = link.answer_to(&call_id).await;
        assert_eq!((state, code), refused("APPROVAL_REJECTED"));
        assert!(device.files().join("a").exists());
    }
}
