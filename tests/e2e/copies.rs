//! A copied state folder is two devices with one identity: whichever of them comes when, both are in
//! quarantine soon after both have been there, and neither gets out of it by itself.
//!
//! `ORION_COPIES` copies are made (6); `make test-identity` makes twenty.

use std::time::Duration;

use orion_domain::{CallState, Envelope, ErrorCode, Meta};
use orion_tests::{Call, Device, LyingAgent, Tree, World, audit_of, eventually};
use orion_wire::v1::link_request::Message;
use orion_wire::v1::link_response;
use orion_wire::{EnrollmentToken, v1};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tonic::Status;

use crate::one_use::number;

/// Waits until both are held, and out.
async fn both_held(world: &World, name: &str, agents: [&Device; 2]) {
    eventually(&format!("{name} in quarantine"), async || {
        let seen = world.admin().device(name).await.ok()?;
        let held = seen.state == i32::from(v1::DeviceState::Quarantined);
        (held && !seen.online).then_some(())
    })
    .await;
    for device in agents {
        eventually("each of them says that it is out", async || {
            assert!(device.agent().is_running(), "{}", device.agent().log());
            let log = device.agent().log();
            let last = log.lines().rfind(|line| line.contains("onnected"))?;
            last.contains("the backend refuses this device").then_some(())
        })
        .await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_and_its_copy_are_both_quarantined_whichever_comes_first() {
    let world = World::new().await;
    let copies = number("ORION_COPIES", 6);
    for round in 0..copies {
        let name = format!("kiosk-{round}");
        let kiosk = world.device(&name).start().await;
        let copy = match round % 3 {
            // Both at once: the copy takes over, and the other comes back.
            0 => {
                let copy = kiosk.copied();
                let _agent = copy.launch();
                copy
            }
            // One after the other, the copy first.
            1 => {
                kiosk.stop().await;
                let copy = kiosk.copied();
                copy.run().await;
                copy.stop().await;
                let _agent = copy.launch();
                copy.ready().await;
                let _agent = kiosk.launch();
                copy
            }
            // The device has gone on counting when its copy comes.
            _ => {
                let copy = kiosk.copied();
                kiosk.stop().await;
                kiosk.run().await;
                let _agent = copy.launch();
                copy
            }
        };
        both_held(&world, &name, [&kiosk, &copy]).await;
        let call = world.admin().call(&name, "get_datetime", serde_json::json!({})).await;
        assert_eq!(call.end(), (CallState::Denied, Some(ErrorCode::PermissionDenied)));
        for device in [&kiosk, &copy] {
            device.agent().stop().await;
        }
    }
    eprintln!("{copies} of {copies} copied state folders: both quarantined");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_in_quarantine_does_not_enrol_itself_out_of_it() {
    let world = World::new().await;
    // A token that is good for more devices, still in the hands of the one in quarantine.
    let (kiosk, _) = world.device("kiosk").invite().await;
    let request = v1::InviteDeviceRequest { preapproved: true, uses: 5, ..Default::default() };
    let invited = world.admin().devices().invite_device(request).await.unwrap().into_inner();
    let enrolled = kiosk.enroll(&invited.token);
    assert_eq!(enrolled.exit_code().await, 0, "{}", enrolled.log());
    kiosk.run().await;
    let held = world.cli().run(&["devices", "quarantine", "kiosk", "--yes"]).await;
    assert_eq!(held.code, 0, "{held:?}");
    assert!(held.stderr.contains("orion devices approve kiosk"), "{held:?}");
    kiosk.agent().stop().await;

    // The key that is held stays held.
    let token: EnrollmentToken = invited.token.parse().unwrap();
    let identity = orion_agent::state::Identity::read(&kiosk.state_dir()).unwrap().unwrap();
    let request = orion_tests::enroll_request(&token, "other", identity.key.csr().unwrap());
    let refused = orion_tests::enrolling(&token).await.enroll(request).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::PermissionDenied, "{refused:?}");

    // A new one waits for an admin, though the token was pre-approved, and the old one is held.
    let again =
        kiosk.agent_command(&["enroll", &invited.token, "--force", "--name", "other", "--no-wait"]);
    again.end().await;
    let other = world.admin().device("other").await.unwrap();
    assert_eq!(other.state, i32::from(v1::DeviceState::Pending), "{}", again.log());
    let kiosk = world.admin().device("kiosk").await.unwrap();
    assert_eq!(kiosk.state, i32::from(v1::DeviceState::Quarantined));
}

/// One line added to a file: run twice, it would be there twice.
fn appending(world: &World) -> JoinHandle<Result<Call, Status>> {
    let arguments = json!({"path": "log", "content": "once\n", "append": true});
    let request = v1::CallToolRequest {
        tool: "write_file".to_owned(),
        device: "kiosk".to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        ..Default::default()
    };
    let admin = world.admin().clone();
    tokio::spawn(async move { admin.ask(request).await })
}

/// An admin lets a device in again that is in quarantine.
async fn let_in(world: &World) {
    eventually("kiosk in quarantine", async || {
        let seen = world.admin().device("kiosk").await.ok()?;
        (seen.state == i32::from(v1::DeviceState::Quarantined)).then_some(())
    })
    .await;
    let approved = world.cli().run(&["devices", "approve", "kiosk", "--yes"]).await;
    assert_eq!(approved.code, 0, "{approved:?}");
}

fn is_left_unknown(call: &Call) {
    assert_eq!(call.end(), (CallState::Unknown, Some(ErrorCode::OutcomeUnknown)), "{call:?}");
    let error = call.error();
    assert_eq!(error.details["established"], "forgotten");
    assert!(error.message.contains("an older one or a copy"), "{error:?}");
    let hint = &error.hints[0].text;
    assert!(hint.ends_with("make the call again where it did not happen"), "{error:?}");
}

async fn kinds(world: &World, call_id: &str) -> Vec<String> {
    audit_of(world.admin(), call_id).await.into_iter().map(|row| row.kind).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_was_put_back_to_an_older_state_is_not_believed_that_a_call_never_ran() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").start().await;
    kiosk.stop().await;
    let older = kiosk.copied();
    kiosk.run().await;
    // It has nothing left to say of its connection, which it could not say to a backend that is dead.
    let before = world.admin().call("kiosk", "get_datetime", json!({})).await;
    assert_eq!(before.end(), (CallState::Succeeded, None));
    // The call runs, and its answer is lost.
    kiosk.agent().freeze();
    let asking = appending(&world);
    let call_id = eventually("the call", async || {
        let request = v1::ListAuditRequest { limit: 50, ..Default::default() };
        let rows = world.admin().audit().list_audit(request).await.ok()?.into_inner().rows;
        let ids = rows.into_iter().filter(|row| row.kind == "call.opened").map(|row| row.call_id);
        ids.into_iter().find(|id| *id != before.id)
    })
    .await;
    // It is on record before it has left the backend, and a frozen device cannot say that it came. A busy
    // backend takes a while; what it had not read by its death would take the order from the device.
    sleep(Duration::from_secs(2)).await;
    world.server().kill9().await;
    asking.await.unwrap().expect_err("an answer from a backend that is dead");
    kiosk.agent().thaw();
    let once = Tree::from([("log".to_owned(), Some("once\n".to_owned()))]);
    eventually("the line", async || (kiosk.tree() == once).then_some(())).await;
    kiosk.agent().kill9().await;

    std::fs::remove_dir_all(kiosk.state_dir()).unwrap();
    std::fs::rename(older.state_dir(), kiosk.state_dir()).unwrap();
    world.restart_server().await;
    let agent = kiosk.launch();
    let_in(&world).await;
    agent.kill9().await;
    kiosk.run().await;
    let told = eventually("what is said of the call", async || {
        let call = world.admin().recorded(&call_id).await.ok()?;
        call.error().details.contains_key("established").then_some(call)
    })
    .await;
    is_left_unknown(&told);
    assert_eq!(kinds(&world, &call_id).await, ["call.opened", "call.closed", "call.reconciled"]);

    // Asked again on its next connection, nothing is new, and nothing ran again.
    kiosk.stop().await;
    kiosk.run().await;
    let next = world.admin().call("kiosk", "get_datetime", json!({})).await;
    assert_eq!(next.end(), (CallState::Succeeded, None));
    assert_eq!(world.admin().recorded(&call_id).await.unwrap(), told);
    assert_eq!(kiosk.tree(), once);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_call_that_its_device_may_have_forgotten_is_not_sent_again_though_its_caller_waits() {
    let world = World::new().await;
    let kiosk = world.device("kiosk").enroll().await;
    let address = world.device_address();
    let mut before = LyingAgent::connect(&kiosk, &address, 7).await.unwrap();
    kiosk.ready().await;
    let asking = appending(&world);
    let order = before.order().await;
    drop(before);
    LyingAgent::connect(&kiosk, &address, 6).await.unwrap_err();
    let_in(&world).await;
    let mut after = LyingAgent::connect(&kiosk, &address, 6).await.unwrap();
    loop {
        match after.receive().await {
            Ok(Some(link_response::Message::CallQuery(v1::CallQuery { call_ids }))) => {
                assert_eq!(call_ids, std::slice::from_ref(&order.call_id));
                after.say(Message::CallsNotSeen(v1::CallsNotSeen { call_ids })).await;
                break;
            }
            Ok(Some(link_response::Message::Dispatch(order))) => panic!("sent again: {order:?}"),
            Ok(Some(_)) => {}
            ended => panic!("instead of a question: {ended:?}"),
        }
    }
    let call = asking.await.unwrap().unwrap();
    is_left_unknown(&call);
    assert_eq!(kinds(&world, &call.id).await, ["call.opened", "call.closed"]);

    // What was sent since, it has not forgotten.
    let asking = appending(&world);
    let order = after.order().await;
    assert_ne!(order.call_id, call.id);
    drop(after);
    let mut after = LyingAgent::connect(&kiosk, &address, 7).await.unwrap();
    let call_ids = vec![order.call_id.clone()];
    loop {
        if let link_response::Message::CallQuery(_) = after.receive().await.unwrap().unwrap() {
            after.say(Message::CallsNotSeen(v1::CallsNotSeen { call_ids })).await;
            break;
        }
    }
    assert_eq!(after.order().await.call_id, order.call_id);
    let envelope = Envelope::success("Done.", json!({}), false, Meta::default());
    let done = v1::CallResult {
        call_id: order.call_id,
        state: v1::CallState::Succeeded.into(),
        result: serde_json::to_vec(&envelope).unwrap().into(),
        duration_us: 1,
        ..v1::CallResult::default()
    };
    after.say(Message::CallResult(done)).await;
    assert_eq!(asking.await.unwrap().unwrap().end(), (CallState::Succeeded, None));
}
