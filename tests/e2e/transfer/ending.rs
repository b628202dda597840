//! What ends a transfer in the middle: a stop, a cancel, another policy, the death of a process. No part of a file
//! stays.

use std::time::{Duration, Instant};

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Call, Client, Device, World, eventually, upload};
use orion_wire::v1;
use serde_json::json;

use super::{PART, bytes, litter};

/// How long a transfer may live on that may not run any more.
const ENDS_WITHIN: Duration = Duration::from_secs(2);

/// Begins an upload of three parts, and sends the first.
async fn begun(person: &Client, device: &Device, name: &str) -> Call {
    let content = bytes(3 * PART);
    let call = person.begin(&device.name, "upload_file", &upload(name, &content)).await.unwrap();
    let received = person.upload_part(&call.id, 0, &content[..PART]).await.unwrap();
    assert_eq!(received, PART as u64);
    assert_eq!(litter(device).len(), 1, "the part is beside the target, under a name of its own");
    assert!(!device.files().join(name).exists());
    call
}

async fn ends(person: &Client, device: &Device, call: &Call, began: Instant) {
    let ended = person.ended(&call.id).await.unwrap();
    assert!(began.elapsed() < ENDS_WITHIN, "{:?}", began.elapsed());
    assert_eq!(ended.end(), (CallState::Cancelled, Some(ErrorCode::Cancelled)), "{ended:?}");
    assert_eq!(litter(device), [""; 0]);
    assert!(person.upload_part(&call.id, PART as u64, b"x").await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stop_a_cancel_and_another_policy_end_a_transfer() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let ann = world.person("ann", orion_domain::Role::Operator).await;

    let call = begun(&ann, &kiosk, "cancelled").await;
    let began = Instant::now();
    let request = v1::CancelCallRequest { call_id: call.id.clone() };
    ann.tools().cancel_call(request).await.unwrap();
    ends(&ann, &kiosk, &call, began).await;

    let call = begun(&ann, &kiosk, "stopped").await;
    let began = Instant::now();
    let request = v1::StopCallsRequest { all_devices: true, ..Default::default() };
    world.admin().tools().stop_calls(request).await.unwrap();
    ends(&ann, &kiosk, &call, began).await;
    let request = v1::ResumeCallsRequest { all_devices: true, ..Default::default() };
    world.admin().tools().resume_calls(request).await.unwrap();

    let call = begun(&ann, &kiosk, "denied").await;
    kiosk.grant(&json!({"tools": ["download_file"], "paths": ["{files}"]})).await;
    ends(&ann, &kiosk, &call, Instant::now()).await;
    kiosk.grant(&json!({"profile": "operator", "paths": ["{files}"]})).await;

    // The owner's file ends it too, without a word of the backend.
    let call = begun(&ann, &kiosk, "closed").await;
    let config = "[ceiling]\nprofile = \"reader\"\npaths = [\"/nowhere\"]\n";
    std::fs::write(kiosk.config(), config).unwrap();
    let ended = ann.ended(&call.id).await.unwrap();
    assert_eq!(ended.state, CallState::Cancelled, "{ended:?}");
    assert_eq!(litter(&kiosk), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_the_death_of_an_agent_no_part_is_left_and_the_call_ends() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let call = begun(world.admin(), &kiosk, "big").await;
    kiosk.agent().kill9().await;
    kiosk.run().await;
    let ended = eventually("the end", async || {
        let call = world.admin().recorded(&call.id).await.unwrap();
        call.state.is_closed().then_some(call)
    })
    .await;
    assert_ne!(ended.state, CallState::Succeeded, "{ended:?}");
    assert!(!kiosk.files().join("big").exists());
    assert_eq!(litter(&kiosk), [""; 0]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transfer_goes_on_after_the_death_of_the_backend() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let call = begun(world.admin(), &kiosk, "big").await;
    world.server().kill9().await;
    world.restart_server().await;
    kiosk.ready().await;
    let content = bytes(3 * PART);
    world.admin().send_content(&call.id, &content).await.unwrap();
    // Until the device reports the end, the backend does not know it.
    eventually("the end", async || {
        let call = world.admin().recorded(&call.id).await.unwrap();
        (call.state == CallState::Succeeded).then_some(())
    })
    .await;
    assert!(std::fs::read(kiosk.files().join("big")).unwrap() == content);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_has_so_many_transfers_at_once_and_other_calls_go_on() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    let admin = world.admin();
    let ann = world.person("ann", orion_domain::Role::Operator).await;
    let mut open = Vec::new();
    for number in 0..3 {
        open.push((admin, begun_small(admin, &format!("file-{number}")).await));
    }
    // One person leaves a place to others, whose transfer then fills the device.
    for (person, name, why) in [
        (admin, "file-4", "admin has the maximum of 3 transfers under way on this device."),
        (&ann, "file-3", ""),
        (&ann, "file-5", "The maximum of 4 transfers is under way on this device."),
    ] {
        let call = begun_small(person, name).await;
        if why.is_empty() {
            open.push((person, call));
            continue;
        }
        let refused = person.ended(&call.id).await.unwrap();
        assert_eq!(refused.error().code, ErrorCode::ResourceExhausted, "{refused:?}");
        assert_eq!(refused.error().message, why);
    }
    let other = admin.call("kiosk", "create_directory", json!({"path": "beside"})).await;
    assert_eq!(other.end(), (CallState::Succeeded, None));
    for (person, call) in &open {
        person.send_content(&call.id, b"12345").await.unwrap();
        assert_eq!(person.ended(&call.id).await.unwrap().state, CallState::Succeeded);
    }
    assert_eq!(std::fs::read(kiosk.files().join("file-3")).unwrap(), b"12345");
}

async fn begun_small(person: &Client, name: &str) -> Call {
    person.begin("kiosk", "upload_file", &upload(name, b"12345")).await.unwrap()
}
