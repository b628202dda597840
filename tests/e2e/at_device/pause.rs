//! The owner's pause: nothing of the backend runs, until the owner says so.

use orion_domain::{CallState, ErrorCode};
use orion_tests::{Call, Device, World, eventually, running};
use serde_json::json;

use super::{DEVELOPER, developer, folder, owner};

const PAUSED: (CallState, Option<ErrorCode>) = (CallState::Refused, Some(ErrorCode::DevicePaused));

/// Starts a script that sleeps, once it is approved, and returns its call.
async fn sleeping(world: &World, device: &Device, seconds: &str) -> Call {
    device.write_script("own.sh", "#!/bin/sh\nsleep \"$1\"\n");
    let arguments = json!({"command": format!("./own.sh {seconds}"), "confirm": true});
    let asked = world.admin().call(&device.name, "execute_command", arguments).await;
    world.admin().decide(asked.approval_id(), true, "").await.unwrap();
    let text = format!("sleep\0{seconds}");
    eventually("the process", async || (running(&text) == 1).then_some(())).await;
    asked
}

async fn is_paused_in_view(world: &World, device: &Device, paused: bool) {
    eventually("the pause in the view of devices", async || {
        let seen = world.admin().device(&device.name).await.ok()?;
        (seen.pause.is_some() == paused).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_runs_ends_and_every_call_is_refused_until_the_owner_resumes_also_over_restarts() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", DEVELOPER).await;
    let ran = sleeping(&world, &kiosk, "74001").await;

    let said = owner(&kiosk, &["pause"]).await;
    assert!(said.contains("The running agent has applied it. No call runs."), "{said}");
    // The command to end it is for this agent, and not for the one of the default folder.
    assert!(said.contains("`orion-agent --state-dir "), "{said}");
    assert_eq!(running("sleep\x0074001"), 0);
    let ended = world.admin().ended(&ran.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Cancelled, Some(ErrorCode::Cancelled)), "{ended:?}");

    let refused = world.admin().call("kiosk", "create_directory", json!({"path": "x"})).await;
    assert_eq!(refused.end(), PAUSED, "{refused:?}");
    let error = refused.error();
    assert!(error.message.contains(" paused this device at "), "{error:?}");
    // The command names this agent, as another one may be installed there.
    let command = error.hints[0].command.as_deref().unwrap();
    let config = format!(" --config {} ", kiosk.config().display());
    assert!(command.starts_with("orion-agent ") && command.ends_with(" resume"), "{command}");
    assert!(command.contains(&config), "{command}");
    let read = world.admin().call("kiosk", "get_datetime", json!({})).await;
    assert_eq!(read.end(), PAUSED, "{read:?}");
    let preview = world.admin().dry_run("kiosk", "create_directory", json!({"path": "x"})).await;
    assert_eq!(preview.end(), PAUSED, "{preview:?}");
    let why = world.cli().run(&["why", "kiosk", "create_directory", "path=x"]).await;
    assert!(why.stdout.contains("paused this device at"), "{why:?}");

    is_paused_in_view(&world, &kiosk, true).await;
    let listed = world.cli().run(&["devices", "list"]).await;
    assert!(listed.stdout.contains("approved, paused"), "{listed:?}");
    let shown = world.cli().run(&["devices", "show", "kiosk"]).await;
    assert!(shown.stdout.contains("until `orion-agent resume` on the device"), "{shown:?}");
    let status = owner(&kiosk, &["status"]).await;
    assert!(status.contains("paused       yes. "), "{status}");

    kiosk.agent().kill9().await;
    kiosk.run().await;
    assert_eq!(folder(&world, &kiosk, "x").await, PAUSED);
    world.server().kill9().await;
    world.restart_server().await;
    kiosk.ready().await;
    assert_eq!(folder(&world, &kiosk, "x").await, PAUSED);
    is_paused_in_view(&world, &kiosk, true).await;
    assert!(!kiosk.files().join("x").exists());

    let said = owner(&kiosk, &["resume"]).await;
    assert!(said.contains("Resumed"), "{said}");
    assert_eq!(folder(&world, &kiosk, "x").await, (CallState::Succeeded, None));
    is_paused_in_view(&world, &kiosk, false).await;
    assert!(owner(&kiosk, &["resume"]).await.contains("was not paused"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_pause_begins_without_an_agent_and_ends_by_itself() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", DEVELOPER).await;
    kiosk.stop().await;
    let said = owner(&kiosk, &["pause", "--for", "3s"]).await;
    assert!(said.contains("No agent runs here now."), "{said}");
    kiosk.run().await;
    let first = folder(&world, &kiosk, "x").await;
    eventually("the end of the pause", async || {
        (folder(&world, &kiosk, "x").await == (CallState::Succeeded, None)).then_some(())
    })
    .await;
    // A slow machine may have started the agent after the end.
    assert!(first == PAUSED || first == (CallState::Succeeded, None), "{first:?}");
    is_paused_in_view(&world, &kiosk, false).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_let_finish_the_running_calls_finish_and_no_other_begins() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", DEVELOPER).await;
    let ran = sleeping(&world, &kiosk, "4.074").await;
    let said = owner(&kiosk, &["pause", "--let-finish"]).await;
    assert!(said.contains("The running agent has applied it."), "{said}");
    assert_eq!(folder(&world, &kiosk, "x").await, PAUSED);
    let ended = world.admin().ended(&ran.id).await.unwrap();
    assert_eq!(ended.end(), (CallState::Succeeded, None), "{ended:?}");
    assert_eq!(folder(&world, &kiosk, "x").await, PAUSED);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_at_the_place_of_the_pause_pauses_the_device() {
    let world = World::new().await;
    let kiosk = developer(&world, "kiosk", DEVELOPER).await;
    std::fs::write(kiosk.state_dir().join("paused.json"), "{}").unwrap();
    let refused = world.admin().call("kiosk", "create_directory", json!({"path": "x"})).await;
    assert_eq!(refused.end(), PAUSED, "{refused:?}");
    assert!(refused.error().message.contains("cannot be read"), "{refused:?}");
    owner(&kiosk, &["resume"]).await;
    assert_eq!(folder(&world, &kiosk, "x").await, (CallState::Succeeded, None));
}
