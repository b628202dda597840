//! What a program prints is seen while it runs, by those who may see the call.
#![cfg(target_os = "linux")]

use std::os::unix::fs::PermissionsExt as _;

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Call, Device, World};
use orion_wire::v1::{self, watch_call_response::Event};
use serde_json::json;
use tonic::Streaming;

/// A device on which a person approved `./job.sh`, which runs in the background.
async fn running(script: &str) -> (World, Device, Call) {
    let world = World::new().await;
    let grants = json!({"profile": "developer", "paths": ["{files}"]});
    let ceiling = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";
    let kiosk = world.device("kiosk").grant(grants).ceiling(ceiling).start().await;
    kiosk.write_file("job.sh", script);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(kiosk.files().join("job.sh"), mode).unwrap();
    let arguments = json!({"command": "./job.sh", "confirm": true});
    let asked = world.admin().call("kiosk", "execute_command", arguments).await;
    assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    (world, kiosk, asked)
}

async fn watch(world: &World, call: &Call) -> Streaming<v1::WatchCallResponse> {
    let request = v1::WatchCallRequest { call_id: call.id.clone(), output: true };
    world.admin().tools().watch_call(request).await.unwrap().into_inner()
}

/// Reads until the call's output ends with these words or the call ends.
async fn read(
    events: &mut Streaming<v1::WatchCallResponse>,
    text: &mut String,
    until: &str,
) -> Option<Call> {
    while let Some(response) = events.message().await.unwrap() {
        match response.event.unwrap() {
            Event::Output(piece) => {
                assert!(piece.offset >= text.len() as u64, "{piece:?} comes again after {text:?}");
                text.push_str(std::str::from_utf8(&piece.data).unwrap());
                if !until.is_empty() && text.ends_with(until) {
                    return None;
                }
            }
            Event::Call(call) => {
                let call = Call::from(call);
                if call.state.is_closed() {
                    return Some(call);
                }
            }
        }
    }
    panic!("the stream ended before the call: {text:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_program_prints_is_seen_while_it_runs_and_read_after_the_fact() {
    let script =
        "#!/bin/sh\necho first\nwhile ! [ -e go ]; do sleep 0.05; done\necho last >&2\nsleep 0.3\n";
    let (world, kiosk, call) = running(script).await;
    let (mut one, mut text) = (watch(&world, &call).await, String::new());
    assert!(read(&mut one, &mut text, "first\n").await.is_none(), "it ended: {text}");
    let now = world.admin().recorded(&call.id).await.unwrap();
    assert!(!now.state.is_closed(), "{now:?}");
    // Who comes later sees what was printed before.
    let (mut two, mut later) = (watch(&world, &call).await, String::new());
    assert!(read(&mut two, &mut later, "first\n").await.is_none());

    kiosk.write_file("go", "");
    for (events, text) in [(&mut one, &mut text), (&mut two, &mut later)] {
        let ended = read(events, text, "").await.unwrap();
        assert_eq!(ended.end(), (CallState::Succeeded, None), "{ended:?}");
        assert_eq!(text, "first\nlast\n");
        assert_eq!(events.message().await.unwrap(), None);
    }
    let after = world.admin().recorded(&call.id).await.unwrap();
    assert_eq!(after.data()["stdout"], "first\n", "{after:?}");
    assert_eq!(after.data()["stderr"], "last\n", "{after:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_else_sees_it_and_a_call_with_endless_output_is_cancelled_while_it_is_watched() {
    let (world, _kiosk, call) = running("#!/bin/sh\nexec yes\n").await;
    let bob = world.person("bob", Role::Operator).await;
    let request = v1::WatchCallRequest { call_id: call.id.clone(), output: true };
    let refused = bob.tools().watch_call(request).await.unwrap_err();
    assert_eq!(refused.code(), tonic::Code::NotFound);

    let mut events = watch(&world, &call).await;
    // This one never reads.
    let _unread = watch(&world, &call).await;
    let (mut seen, mut next) = (0, 0);
    while seen < 200_000 {
        let response = events.message().await.unwrap().expect("the call has no end");
        let Some(Event::Output(piece)) = response.event else { continue };
        assert!(piece.offset >= next, "{} comes after {next}", piece.offset);
        assert!(piece.data.iter().all(|byte| matches!(byte, b'y' | b'\n')));
        next = piece.offset + piece.data.len() as u64;
        seen += piece.data.len();
    }
    let request = v1::CancelCallRequest { call_id: call.id.clone() };
    world.admin().tools().cancel_call(request).await.unwrap();
    let ended = world.admin().ended(&call.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Cancelled, Some(ErrorCode::Cancelled)), "{ended:?}");
}
