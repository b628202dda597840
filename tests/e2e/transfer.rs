//! Files that move beside calls: whole, by the same rules as any call, over links that are lost, and never in part.
#![cfg(target_os = "linux")]

mod across;
mod command;
mod ending;
mod hostile;
mod long;

use orion_domain::{CallState, Digest, ErrorCode};
use orion_tests::{Cut, Device, World, eventually, upload};
use orion_wire::v1;
use serde_json::json;

/// Bytes of a part.
const PART: usize = orion_catalog::MAX_PART_BYTES;

/// Returns so many bytes of every value, different at each place.
fn bytes(count: usize) -> Vec<u8> {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let next = std::iter::repeat_with(move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    next.flatten().take(count).collect()
}

/// Returns the temporary files that are left in a device's folder.
fn litter(device: &Device) -> Vec<String> {
    device.tree().into_keys().filter(|path| path.contains(".orion-")).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_of_every_value_and_an_empty_file_go_there_and_back() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    for (name, content) in [("all.bin", bytes(3 * PART + 17)), ("empty", Vec::new())] {
        let sent = world.admin().upload("kiosk", name, &content).await;
        let digest = Digest::of(&content).to_string();
        assert_eq!(sent.data()["sha256"], json!(digest), "{sent:?}");
        assert_eq!(std::fs::read(kiosk.files().join(name)).unwrap(), content);
        let (got, fetched) = world.admin().download("kiosk", name).await;
        assert_eq!((got.data()["sha256"].as_str(), fetched == content), (Some(&*digest), true));
    }
    assert_eq!(litter(&kiosk), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_goes_on_where_it_was_whatever_cuts_the_link_and_nobody_grows() {
    let world = World::new().await;
    let proxy = world.proxy().await;
    let kiosk = world.device("kiosk").via_proxy(&proxy).start().await;
    let content = bytes(32 * 1024 * 1024);
    let before = [kiosk.agent().usage().resident, world.server().usage().resident];
    let admin = world.admin();
    let call = admin.begin("kiosk", "upload_file", &upload("big", &content)).await.unwrap();
    let (mut offset, mut cuts) = (0, 0);
    while offset < content.len() {
        let part = &content[offset..content.len().min(offset + PART)];
        let received = admin.upload_part(&call.id, offset as u64, part).await.unwrap();
        offset = usize::try_from(received).unwrap();
        if cuts < 3 && offset / (content.len() / 5) > cuts {
            cuts += 1;
            proxy.cut(if cuts % 2 == 0 { Cut::Reset } else { Cut::Finish });
        }
    }
    let sent = admin.ended(&call.id).await.unwrap();
    assert_eq!(sent.end(), (CallState::Succeeded, None), "{sent:?}");
    assert_eq!(cuts, 3);
    assert_eq!(
        Digest::of(&std::fs::read(kiosk.files().join("big")).unwrap()),
        Digest::of(&content)
    );

    kiosk.ready().await;
    let call = admin.begin("kiosk", "download_file", &json!({"path": "big"})).await.unwrap();
    let mut fetched = Vec::new();
    loop {
        let part = admin.download_part(&call.id, fetched.len() as u64, false).await.unwrap();
        if part.is_empty() {
            break;
        }
        fetched.extend_from_slice(&part);
        if (fetched.len() / PART).is_multiple_of(20) {
            proxy.cut(Cut::Reset);
        }
    }
    admin.download_part(&call.id, 0, true).await.unwrap();
    let got = admin.ended(&call.id).await.unwrap();
    assert_eq!(got.data()["sha256"], json!(Digest::of(&content).to_string()));
    assert!(fetched == content);
    for (process, before) in [kiosk.agent(), world.server()].iter().zip(before) {
        let peak = process.usage().peak;
        assert!(peak < before + 48 * 1024 * 1024, "{peak} after {before}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_not_granted_is_refused_before_any_byte() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file(".ssh/id_ed25519", "key");
    kiosk.write_file("note.txt", "canary");
    for path in ["/etc/passwd", ".ssh/id_ed25519", "../agent.toml"] {
        let (denied, content) = world.admin().download("kiosk", path).await;
        assert_eq!(denied.end().1, Some(ErrorCode::PathNotAllowed), "{denied:?}");
        assert_eq!(content, b"");
        let denied = world.admin().upload("kiosk", path, b"x").await;
        assert_eq!(denied.end().1, Some(ErrorCode::PathNotAllowed), "{denied:?}");
        let part = world.admin().upload_part(&denied.id, 0, b"x").await.unwrap_err();
        assert_eq!(part.code(), tonic::Code::FailedPrecondition);
    }
    kiosk.grant(&json!({"tools": ["download_file"], "paths": ["{files}"]})).await;
    let denied = world.admin().upload("kiosk", "new.txt", b"x").await;
    assert_eq!(denied.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)));
    assert_eq!(world.admin().download("kiosk", "note.txt").await.1, b"canary");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_client_the_call_says_what_to_do() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("note.txt", "x");
    let request = |tool: &str, arguments: &serde_json::Value| v1::CallToolRequest {
        tool: tool.to_owned(),
        device: "kiosk".to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        ..Default::default()
    };
    for (tool, arguments, command) in [
        ("download_file", json!({"path": "note.txt"}), "orion cp kiosk:note.txt ."),
        ("upload_file", upload("new.txt", b"x"), "orion cp FILE kiosk:new.txt"),
    ] {
        let denied = world.admin().ask(request(tool, &arguments)).await.unwrap();
        let error = denied.error();
        assert_eq!(error.code, ErrorCode::PreconditionFailed, "{denied:?}");
        let commands: Vec<_> = error.hints.iter().filter_map(|hint| hint.command.clone()).collect();
        assert_eq!(commands, [command]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_else_moves_the_content_of_a_call_and_no_other_part_is_written() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let ann = world.person("ann", orion_domain::Role::Operator).await;
    let call = ann.begin("kiosk", "upload_file", &upload("list.txt", b"12345")).await.unwrap();
    for other in [world.admin(), &world.person("bob", orion_domain::Role::Admin).await] {
        let refused = other.upload_part(&call.id, 0, b"evil!").await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::NotFound, "{refused:?}");
        let refused = other.download_part(&call.id, 0, false).await.unwrap_err();
        assert_eq!(refused.code(), tonic::Code::NotFound, "{refused:?}");
    }
    let wrong = ann.download_part(&call.id, 0, false).await.unwrap_err();
    assert_eq!(wrong.code(), tonic::Code::FailedPrecondition, "an upload is not read");
    assert_eq!(ann.upload_part(&call.id, 3, b"45").await.unwrap(), 0, "out of order");
    assert_eq!(ann.upload_part(&call.id, 0, b"12").await.unwrap(), 2);
    assert_eq!(ann.upload_part(&call.id, 0, b"12").await.unwrap(), 2, "sent again");
    let large = ann.upload_part(&call.id, 2, &vec![0; PART + 1]).await.unwrap_err();
    assert_eq!(large.code(), tonic::Code::InvalidArgument);
    drop(ann.upload_part(&call.id, 2, b"3456").await);
    let ended = ann.ended(&call.id).await.unwrap();
    assert_eq!(ended.error().code, ErrorCode::ResourceExhausted, "more than was stated");
    assert!(!kiosk.files().join("list.txt").exists());
    assert_eq!(litter(&kiosk), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_changes_and_content_that_is_another_are_found() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("big", bytes(3 * PART));
    let admin = world.admin();
    let call = admin.begin("kiosk", "download_file", &json!({"path": "big"})).await.unwrap();
    assert_eq!(admin.download_part(&call.id, 0, false).await.unwrap().len(), PART);
    kiosk.write_file("big", bytes(3 * PART + 1));
    drop(admin.download_part(&call.id, PART as u64, false).await);
    let ended = admin.ended(&call.id).await.unwrap();
    assert_eq!(ended.error().code, ErrorCode::PreconditionFailed, "{ended:?}");

    let call = admin.begin("kiosk", "upload_file", &upload("new", b"12345")).await.unwrap();
    drop(admin.upload_part(&call.id, 0, b"12346").await);
    let ended = admin.ended(&call.id).await.unwrap();
    assert_eq!(ended.error().code, ErrorCode::PreconditionFailed, "{ended:?}");
    assert!(ended.error().message.contains("SHA-256"), "{ended:?}");
    assert!(!kiosk.files().join("new").exists());
    assert_eq!(litter(&kiosk), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_is_replaced_with_an_approval_of_exactly_that_content_and_comes_back() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.write_file("list.txt", "Bread\n");
    let admin = world.admin();
    let taken = admin.upload("kiosk", "list.txt", b"Milk\n").await;
    assert_eq!(taken.error().code, ErrorCode::AlreadyExists, "{taken:?}");
    // A file that can be run asks, and the card names size and digest.
    kiosk.write_script("run.sh", "#!/bin/sh\n");
    let path = kiosk.files().join("run.sh");
    let mut over = upload("run.sh", b"#!/bin/sh\ntrue\n");
    over["overwrite"] = json!(true);
    let refused = admin.begin("kiosk", "upload_file", &over).await.unwrap();
    let refused = admin.ended(&refused.id).await.unwrap();
    assert_eq!(refused.error().code, ErrorCode::ApprovalRequired, "{refused:?}");
    let asked = eventually("the card", async || {
        let request = v1::ListApprovalsRequest { all: false };
        let open = admin.approvals().list_approvals(request).await.unwrap().into_inner();
        open.approvals.into_iter().next()
    })
    .await;
    assert_eq!(std::fs::read(&path).unwrap(), b"#!/bin/sh\n");
    admin.decide(&asked.approval_id, true, "").await.unwrap();
    let call = asked.call_id.clone();
    eventually("the call", async || {
        let call = admin.recorded(&call).await.unwrap();
        (call.state == CallState::Dispatched).then_some(())
    })
    .await;
    admin.send_content(&call, b"#!/bin/sh\ntrue\n").await.unwrap();
    let ended = admin.ended(&call).await.unwrap();
    assert_eq!(ended.data()["replaced"], json!(true), "{ended:?}");
    let undo = json!({"call_id": call, "paths": ["run.sh"]});
    let mut undone = admin.call("kiosk", "undo_call", undo).await;
    if undone.state == CallState::AwaitingApproval {
        admin.decide(undone.approval_id(), true, "").await.unwrap();
        undone = admin.ended(&undone.id).await.unwrap();
    }
    assert_eq!(undone.end(), (CallState::Succeeded, None), "{undone:?}");
    assert_eq!(std::fs::read(&path).unwrap(), b"#!/bin/sh\n");
}
