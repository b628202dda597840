//! A copied state folder is two devices with one identity: whichever of them comes when, both are in
//! quarantine soon after both have been there, and neither gets out of it by itself.
//!
//! `ORION_COPIES` copies are made (6); `make test-identity` makes twenty.

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Device, World, eventually};
use orion_wire::{EnrollmentToken, v1};

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
