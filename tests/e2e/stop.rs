//! Stop everything: what runs and waits ends, nothing new runs, and both are in the audit, until somebody resumes.
#![cfg(target_os = "linux")]

use std::time::{Duration, Instant};

use orion_domain::{CallState, ErrorCode, Role};
use orion_tests::{Call, Client, Device, World, eventually, running};
use orion_wire::v1;
use serde_json::{Value, json};

mod many;

const CEILING: &str = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";

/// How long a stopped program may live on.
const GONE_WITHIN: Duration = Duration::from_secs(2);

async fn developer(world: &World, name: &str) -> Device {
    let grants = json!({"profile": "developer", "paths": ["{files}"]});
    world.device(name).grant(grants).ceiling(CEILING).start().await
}

/// Starts a script that sleeps, once it is approved, and returns its call.
async fn sleeping(world: &World, kiosk: &Device, seconds: &str) -> Call {
    let text = "#!/bin/sh\ntrap '' TERM HUP\nsetsid sleep \"$1\" &\nsleep \"$1\"\n";
    kiosk.write_script("own.sh", text);
    let arguments = json!({"command": format!("./own.sh {seconds}"), "confirm": true});
    let asked = world.admin().call(&kiosk.name, "execute_command", arguments).await;
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    let text = format!("sleep\0{seconds}");
    eventually("the processes", async || (running(&text) == 2).then_some(())).await;
    asked
}

fn everything() -> v1::StopCallsRequest {
    v1::StopCallsRequest { all_devices: true, ..Default::default() }
}

async fn stop(person: &Client, request: v1::StopCallsRequest) -> v1::StopCallsResponse {
    person.tools().stop_calls(request).await.unwrap().into_inner()
}

async fn resume(person: &Client) -> Result<v1::ResumeCallsResponse, tonic::Status> {
    let request = v1::ResumeCallsRequest { all_devices: true, ..Default::default() };
    Ok(person.tools().resume_calls(request).await?.into_inner())
}

async fn folder(person: &Client, device: &str, name: &str) -> Call {
    person.call(device, "create_directory", json!({"path": name})).await
}

fn delete(device: &Device, name: &str) -> (String, &'static str, Value) {
    (device.name.clone(), "delete_file", json!({"path": name, "confirm": true}))
}

const STOPPED: (CallState, Option<ErrorCode>) =
    (CallState::Denied, Some(ErrorCode::PermissionDenied));
const CANCELLED: (CallState, Option<ErrorCode>) =
    (CallState::Cancelled, Some(ErrorCode::Cancelled));

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_runs_and_waits_ends_and_nothing_starts_until_it_is_resumed_also_over_a_kill() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk").await;
    let laptop = world.device("laptop").start().await;
    let admin = world.admin();
    laptop.stop().await;
    let queued = v1::CallToolRequest {
        tool: "create_directory".to_owned(),
        device: "laptop".to_owned(),
        arguments: json!({"path": "late"}).to_string().into_bytes().into(),
        queue: true,
        ..Default::default()
    };
    let queued = admin.ask(queued).await.unwrap();
    assert_eq!(queued.state, CallState::Queued, "{queued:?}");
    kiosk.write_file("old.txt", "12345");
    let (device, tool, arguments) = delete(&kiosk, "old.txt");
    let asked = admin.call(&device, tool, arguments.clone()).await;
    assert_eq!(asked.state, CallState::AwaitingApproval, "{asked:?}");
    let open = admin.plan(&[(device.as_str(), tool, arguments)], false).await.unwrap();
    let ran = sleeping(&world, &kiosk, "73001").await;
    let text = "#!/bin/sh\nsleep 73002\n";
    kiosk.write_script("step.sh", text);
    let command = json!({"command": "./step.sh", "confirm": true});
    let steps = [
        ("kiosk", "execute_command", command),
        ("kiosk", "create_directory", json!({"path": "after"})),
    ];
    let middle = admin.plan(&steps, false).await.unwrap();
    admin.decide_plan(&middle, true, "").await.unwrap();
    eventually("the step", async || (running("sleep\x0073002") == 1).then_some(())).await;

    let began = Instant::now();
    let reason = "It runs away".to_owned();
    let stopped = stop(admin, v1::StopCallsRequest { reason, ..everything() }).await;
    assert!(!stopped.was_stopped && !stopped.is_ending, "{stopped:?}");
    assert_eq!(stopped.plans, 2, "{stopped:?}");
    while running("73001") + running("73002") > 0 {
        assert!(began.elapsed() < GONE_WITHIN, "{:?}", began.elapsed());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for call in [&queued, &asked, &ran] {
        let ended = admin.ended(&call.id).await.unwrap();
        assert_eq!(ended.end(), CANCELLED, "{ended:?}");
    }
    for plan in [&open, &middle] {
        let plan = admin.plan_of(plan, true).await.unwrap();
        assert_ne!(plan.state(), v1::PlanState::Succeeded, "{plan:?}");
    }
    assert!(admin.decide(asked.approval_id(), true, "").await.is_err());
    let refused = folder(admin, "kiosk", "new").await;
    assert_eq!(refused.end(), STOPPED, "{refused:?}");
    assert!(refused.error().message.starts_with("admin stopped all calls at "), "{refused:?}");
    let refused = admin.call("backend", "list_devices", json!({})).await;
    assert_eq!(refused.end(), STOPPED, "{refused:?}");
    let previewed = admin.dry_run("kiosk", "create_directory", json!({"path": "new"})).await;
    assert_eq!(previewed.end(), STOPPED, "{previewed:?}");

    world.server().kill9().await;
    world.restart_server().await;
    kiosk.ready().await;
    laptop.run().await;
    assert_eq!(folder(admin, "kiosk", "new").await.end(), STOPPED);
    assert_eq!(folder(admin, "laptop", "new").await.end(), STOPPED);
    let again = stop(admin, everything()).await;
    assert!(again.was_stopped, "{again:?}");
    assert_eq!(resume(admin).await.unwrap().lifted.len(), 1);
    let none = resume(admin).await.unwrap_err();
    assert_eq!(none.message(), "No stop of all calls is set.");
    assert!(!kiosk.files().join("after").exists() && kiosk.files().join("old.txt").exists());
    assert!(laptop.tree().is_empty());
    assert_eq!(folder(admin, "kiosk", "new").await.end(), (CallState::Succeeded, None));

    let list = v1::ListAuditRequest { limit: 1000, ..Default::default() };
    let rows = admin.audit().list_audit(list).await.unwrap().into_inner().rows;
    let kinds: Vec<_> = rows.into_iter().map(|row| row.kind).collect();
    for (kind, count) in [("calls.stopped", 1), ("calls.resumed", 1), ("plan.stopped", 2)] {
        assert_eq!(kinds.iter().filter(|it| *it == kind).count(), count, "{kind}: {kinds:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_person_stops_their_own_calls_and_an_admin_everybodys_on_the_command_line_too() {
    let world = World::new().await;
    let _kiosk = world.device("kiosk").start().await;
    let (ann, bob) =
        (world.person("ann", Role::Operator).await, world.person("bob", Role::Operator).await);
    let cli = world.cli_of("ann", &ann);
    let out = cli.run(&["stop", "kiosk", "--reason", "lunch"]).await;
    assert_eq!(out.code, 0, "{out:?}");
    assert!(out.stderr.contains("The calls of ann on kiosk are stopped."), "{out:?}");
    assert_eq!(folder(&ann, "kiosk", "a").await.end(), STOPPED);
    assert_eq!(folder(&bob, "kiosk", "b").await.end(), (CallState::Succeeded, None));
    let listed = cli.run(&["stop", "--list", "-o", "json"]).await.json();
    assert_eq!(listed[0]["reason"], "lunch", "{listed}");
    let others = v1::StopCallsRequest { user: "bob".to_owned(), ..everything() };
    assert_eq!(
        ann.tools().stop_calls(others).await.unwrap_err().code(),
        tonic::Code::PermissionDenied
    );
    let nothing = ann.tools().stop_calls(v1::StopCallsRequest::default()).await.unwrap_err();
    assert_eq!(nothing.code(), tonic::Code::InvalidArgument);

    stop(world.admin(), everything()).await;
    assert_eq!(folder(&bob, "kiosk", "c").await.end(), STOPPED);
    let out = cli.run(&["resume", "--all"]).await;
    assert_eq!(out.code, 0, "{out:?}");
    assert!(out.stderr.contains("All calls on every device are still stopped"), "{out:?}");
    assert_eq!(folder(&ann, "kiosk", "d").await.end(), STOPPED);
    let refused = cli.run(&["resume", "--all"]).await;
    assert_eq!(refused.code, 5, "only an admin lifts what an admin stopped: {refused:?}");
    assert!(refused.stderr.contains("admin stopped all calls"), "{refused:?}");
    assert!(refused.stderr.contains("an admin of this backend: orion resume --all"), "{refused:?}");
    resume(world.admin()).await.unwrap();
    assert_eq!(folder(&ann, "kiosk", "e").await.end(), (CallState::Succeeded, None));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_many_calls_at_once_none_runs_after_the_stop() {
    let world =
        World::configured("[calls]\nper_person_per_second = 2000\nburst_per_person = 2000\n").await;
    let kiosk = world.device("kiosk").start().await;
    let callers: Vec<_> = (0..8)
        .map(|caller| {
            let client = world.admin().clone();
            tokio::spawn(async move {
                for n in 0..10_000 {
                    let call = folder(&client, "kiosk", &format!("d-{caller}-{n}")).await;
                    if call.end() == STOPPED {
                        return;
                    }
                }
                panic!("no call was refused");
            })
        })
        .collect();
    eventually("some calls", async || (kiosk.tree().len() > 20).then_some(())).await;
    stop(world.admin(), everything()).await;
    for caller in callers {
        caller.await.unwrap();
    }
    let made = kiosk.tree().len();
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(kiosk.tree().len(), made);
    let request = v1::ListCallsRequest { open: true, ..Default::default() };
    let open = world.admin().tools().list_calls(request).await.unwrap().into_inner().calls;
    assert_eq!(open.len(), 0, "{open:?}");
}
