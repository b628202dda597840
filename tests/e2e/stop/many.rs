//! A stop under a hundred calls of every kind.

use std::path::PathBuf;

use super::*;

const DEVICES: [&str; 5] = ["one", "two", "three", "four", "five"];
/// Commands that sleep, on each device.
const COMMANDS: usize = 8;
/// Of these, those that run for certain. The agent starts them as their memory is free.
const RUNNING: usize = 6;
/// Files that are read whole, on each device.
const FILES: usize = 3;
/// Files that come from a client which sends nothing, on each device.
const UPLOADS: usize = 1;
/// Calls that wait for an approval, on each device.
const ASKED: usize = 3;
/// Calls that wait for a device that is away.
const QUEUED: usize = 25;

/// What the kinds of calls would do on one device.
fn calls() -> Vec<(&'static str, Value)> {
    let command = ("execute_command", json!({"command": "make -s", "timeout": 600}));
    let read = ("get_file_info", json!({"path": "large", "sha256": true}));
    let upload = |n| {
        let sha256 = "0".repeat(64);
        let path = format!("up-{n}");
        ("upload_file", json!({"path": path, "size_bytes": 1_000_000_000, "sha256": sha256}))
    };
    let delete = |n| ("delete_file", json!({"path": format!("old-{n}"), "confirm": true}));
    std::iter::repeat_n(command, COMMANDS)
        .chain(std::iter::repeat_n(read, FILES))
        .chain((0..UPLOADS).map(upload))
        .chain((0..ASKED).map(delete))
        .collect()
}

async fn call(person: &Client, device: &str, tool: &str, arguments: &Value, queue: bool) -> Call {
    let request = v1::CallToolRequest {
        tool: tool.to_owned(),
        device: device.to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        timeout_ms: 300_000,
        background: true,
        moves_content: tool == "upload_file",
        queue,
        ..Default::default()
    };
    person.ask(request).await.unwrap()
}

/// Returns the files and folders of all devices.
fn kept(devices: &[Device]) -> Vec<Vec<PathBuf>> {
    let names = |device: &Device| {
        let entries = std::fs::read_dir(device.files()).unwrap().flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.path()).collect();
        names.sort();
        names
    };
    devices.iter().map(names).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_calls_of_every_kind_are_gone_long_before_their_time_and_nothing_starts_after() {
    let world =
        World::configured("[calls]\nper_person_per_second = 500\nburst_per_person = 500\n").await;
    let admin = world.admin();
    // Another number than that of a run beside this one.
    let seconds = 100_000 + std::process::id();
    let sleep = format!("sleep\0{seconds}");
    let mut devices = Vec::new();
    for name in DEVICES {
        let device = developer(&world, name).await;
        let both = format!("all:\n\ttrap '' TERM; setsid sleep {seconds} & sleep {seconds}\n");
        device.write_file("Makefile", both);
        for n in 0..ASKED {
            device.write_file(&format!("old-{n}"), "1");
        }
        // Read for minutes, and takes no place on the disk.
        let large = std::fs::File::create(device.files().join("large")).unwrap();
        large.set_len(64 << 30).unwrap();
        devices.push(device);
    }
    let away = world.device("away").start().await;
    away.stop().await;
    let mut made = Vec::new();
    for device in DEVICES {
        for (tool, arguments) in calls() {
            made.push(call(admin, device, tool, &arguments, false).await);
        }
    }
    for n in 0..QUEUED {
        let arguments = json!({"path": format!("late-{n}")});
        made.push(call(admin, "away", "create_directory", &arguments, true).await);
    }
    assert_eq!(made.len(), 100);
    let programs = 2 * DEVICES.len() * RUNNING;
    eventually("the programs", async || (running(&sleep) >= programs).then_some(())).await;
    let mut states = std::collections::BTreeMap::<String, usize>::new();
    for call in &made {
        let now = admin.recorded(&call.id).await.unwrap();
        assert_ne!(now.state, CallState::Failed, "{now:?}");
        *states.entry(format!("{:?}", now.state)).or_default() += 1;
    }
    let working = DEVICES.len() * (COMMANDS + FILES + UPLOADS);
    let expected = [("AwaitingApproval", 15), ("Dispatched", working), ("Queued", QUEUED)];
    let expected = expected.map(|(state, count)| (state.to_owned(), count));
    assert_eq!(states, expected.into(), "a call of each kind is under way");
    let mut before = kept(&devices);
    // What has come of the uploads goes with them.
    let is_whole = |path: &PathBuf| !path.to_string_lossy().contains("/.orion-");
    before.iter_mut().for_each(|names| names.retain(is_whole));

    let began = Instant::now();
    stop(admin, everything()).await;
    let answered = began.elapsed();
    eventually("the end of the programs", async || (running(&sleep) == 0).then_some(())).await;
    let programs = began.elapsed();
    for call in &made {
        let ended = admin.ended(&call.id).await.unwrap();
        assert_eq!(ended.end(), CANCELLED, "{ended:?}");
    }
    let ended = began.elapsed();
    eprintln!(
        "answered after {answered:?}, programs gone after {programs:?}, all ended after {ended:?}"
    );
    // A machine that does nothing else needs less than two seconds for it, and the calls had minutes left.
    assert!(programs < 10 * GONE_WITHIN, "{programs:?}");

    for device in DEVICES {
        for (tool, arguments) in calls() {
            let refused = call(admin, device, tool, &arguments, false).await;
            assert_eq!(refused.end(), STOPPED, "{tool}: {refused:?}");
        }
    }
    away.run().await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(running(&sleep), 0);
    assert_eq!(kept(&devices), before);
    assert!(away.tree().is_empty());
}
