//! The owner's word while a backend that lies is connected: it counts at once, whatever is granted.

use orion_tests::{Deceived, Link, LyingServer};
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
