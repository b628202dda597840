//! Files from one device to another: one call there and one here, each evaluated and recorded.

use orion_domain::{CallState, Digest, ErrorCode};
use orion_tests::{World, eventually};
use orion_wire::v1;
use serde_json::{Value, json};

use super::{PART, bytes, litter};

fn across(path: &str) -> Value {
    json!({"from_device": "laptop", "from_path": path, "path": "Archive/copy.bin"})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_goes_from_one_device_to_another_and_both_calls_are_recorded() {
    let world = World::new().await;
    let (laptop, server) =
        (world.device("laptop").start().await, world.device("server-1").start().await);
    let content = bytes(3 * PART + 5);
    laptop.write_file("report.bin", &content);
    let admin = world.admin();
    let brought = admin.call("server-1", "transfer_file", across("report.bin")).await;
    assert_eq!(brought.data()["sha256"], json!(Digest::of(&content).to_string()));
    assert!(std::fs::read(server.files().join("Archive/copy.bin")).unwrap() == content);
    let request = v1::ListCallsRequest { device: "laptop".to_owned(), ..Default::default() };
    let calls = admin.tools().list_calls(request).await.unwrap().into_inner().calls;
    let read: Vec<_> = calls.iter().map(|call| (call.tool.as_str(), call.state)).collect();
    let succeeded = orion_wire::call_state(CallState::Succeeded) as i32;
    assert_eq!(read, [("download_file", succeeded)]);
    let undo = json!({"call_id": brought.id, "paths": ["Archive/copy.bin"]});
    let undone = admin.call("server-1", "undo_call", undo).await;
    assert_eq!(undone.end(), (CallState::Succeeded, None), "{undone:?}");
    assert!(!server.files().join("Archive").exists());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_grants_of_both_devices_decide() {
    let world = World::new().await;
    let (laptop, server) =
        (world.device("laptop").start().await, world.device("server-1").start().await);
    laptop.write_file("report.bin", "canary");
    let admin = world.admin();
    for path in ["/etc/passwd", "../agent.toml"] {
        let denied = admin.call("server-1", "transfer_file", across(path)).await;
        assert_eq!(
            denied.end(),
            (CallState::Denied, Some(ErrorCode::PathNotAllowed)),
            "{denied:?}"
        );
        assert!(denied.error().message.starts_with("The source: "), "{denied:?}");
        let preview = admin.dry_run("server-1", "transfer_file", across(path)).await;
        assert_eq!(preview.end(), (CallState::Denied, Some(ErrorCode::PathNotAllowed)));
    }
    let missing = admin.call("server-1", "transfer_file", across("none")).await;
    assert_eq!(missing.error().code, ErrorCode::FileNotFound, "{missing:?}");
    let nowhere = json!({"from_device": "nobody", "from_path": "a", "path": "b"});
    let nowhere = admin.call("server-1", "transfer_file", nowhere).await;
    assert_eq!(nowhere.error().code, ErrorCode::DeviceNotFound, "{nowhere:?}");
    server.grant(&json!({"tools": ["read_file"], "paths": ["{files}"]})).await;
    let denied = admin.call("server-1", "transfer_file", across("report.bin")).await;
    assert_eq!(denied.state, CallState::Denied);
    assert_eq!(server.tree().len(), 0, "{:?}", server.tree());
    assert_eq!(litter(&server), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_ends_both_calls() {
    let world = World::new().await;
    let laptop = world.device("laptop").start().await;
    let proxy = world.proxy().await;
    let server = world.device("server-1").via_proxy(&proxy).start().await;
    laptop.write_file("big", bytes(64 * PART));
    proxy.set(orion_tests::Faults::down(orion_tests::Flow::Slow(1024 * 1024)));
    let admin = world.admin();
    let call = admin.begin("server-1", "transfer_file", &across("big")).await.unwrap();
    eventually("a part", async || (litter(&server).len() == 1).then_some(())).await;
    let began = std::time::Instant::now();
    let request = v1::StopCallsRequest { all_devices: true, ..Default::default() };
    admin.tools().stop_calls(request).await.unwrap();
    let ended = admin.ended(&call.id).await.unwrap();
    assert_eq!(ended.state, CallState::Cancelled, "{ended:?}");
    assert!(began.elapsed() < std::time::Duration::from_secs(3), "{:?}", began.elapsed());
    eventually("the reading call", async || {
        let request = v1::ListCallsRequest { open: true, ..Default::default() };
        let calls = admin.tools().list_calls(request).await.unwrap().into_inner().calls;
        calls.is_empty().then_some(())
    })
    .await;
    assert_eq!(litter(&server), [""; 0]);
}
