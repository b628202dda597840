//! What a program prints is seen while it runs, by those who may see the call.
#![cfg(target_os = "linux")]

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Call, Device, World};
use orion_wire::v1::{self, watch_call_response::Event};
use serde_json::json;
use tonic::Streaming;

/// A device on which commands are granted.
async fn developer() -> (World, Device) {
    let world = World::new().await;
    let grants = json!({"profile": "developer", "paths": ["{files}"]});
    let ceiling = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";
    let kiosk = world.device("kiosk").grant(grants).ceiling(ceiling).start().await;
    (world, kiosk)
}

/// A device on which a person approved `./job.sh`, which runs in the background.
async fn running(script: &str) -> (World, Device, Call) {
    let (world, kiosk) = developer().await;
    kiosk.write_script("job.sh", script);
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
    let script = "#!/bin/sh\necho first\nwhile ! [ -e go ]; do sleep 0.05; done\necho last >&2\n";
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
async fn a_person_at_a_terminal_sees_each_line_once_and_everything_else_as_before() {
    let (world, kiosk) = developer().await;
    // The last line comes just before the end.
    kiosk.write_script("job.sh", "#!/bin/sh\nsleep 1\necho tick\nsleep 1\necho tock\n");
    let call =
        |command: &str| format!("--yes call kiosk execute_command command={command} confirm=true");
    let (code, seen) = world.cli().at_terminal(&call("./job.sh")).await;
    assert_eq!(code, 0, "{seen}");
    for line in ["tick", "tock"] {
        assert_eq!(seen.matches(line).count(), 1, "{seen}");
    }
    let (code, seen) = world.cli().at_terminal(&call("'ls job.sh'")).await;
    assert_eq!(code, 0, "{seen}");
    // Whether it ends before its output is followed or after, what it prints is shown once.
    let printed = seen.replace("ls job.sh", "").replace("[\"job.sh\"]", "");
    assert_eq!(printed.matches("job.sh").count(), 1, "a short command shows its result: {seen}");

    // A command that takes too long ends as the backend says, with its call's id.
    kiosk.write_script("slow.sh", "#!/bin/sh\necho begun\nsleep 30\n");
    let slow = format!("--timeout 3s {}", call("./slow.sh"));
    let (code, seen) = world.cli().at_terminal(&slow).await;
    assert_eq!(code, i32::from(ErrorCode::Timeout.exit_code()), "{seen}");
    assert!(seen.contains("took too long"), "{seen}");

    // A call whose risk the device raises is shown to the person, and made when it is approved.
    kiosk.write_script("run.sh", "before");
    let written = "--yes call kiosk write_file path=run.sh content=after";
    let (code, seen) = world.cli().at_terminal(written).await;
    assert_eq!(code, 0, "{seen}");
    assert!(seen.contains("waiting for the call to end"), "nobody approved it: {seen}");
    assert_eq!(kiosk.tree()["run.sh"].as_deref(), Some("after"));
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
    // Another call is served beside it.
    let listed = world.admin().call("kiosk", "list_directory", json!({})).await;
    assert_eq!(listed.end(), (CallState::Succeeded, None), "{listed:?}");
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
