//! Programs and searches of one person that take whatever they get: they hold up no call of another person on the
//! same device.

use std::time::Duration;

use orion_domain::{CallState, Role};
use orion_tests::{Client, World};
use orion_wire::v1;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::figures::{Peak, measure};
use super::{GROWN, SLOWER, seconds};

const CEILING: &str = "[ceiling]\nprofile = \"developer\"\npaths = [\"{files}\"]\n";
/// Output without end, memory without end, processes without end, and a program that no signal but one ends.
const MAKEFILE: &str = "\
SHELL = /bin/bash
flood:
\tyes
hog:
\ttail /dev/zero
bomb:
\tb() { b | b & }; b
deaf:
\ttrap '' TERM INT HUP; while :; do :; done
";
const TARGETS: [&str; 4] = ["flood", "hog", "bomb", "deaf"];

/// Makes this call again and again. Returns how often.
async fn repeat(
    person: Client,
    tool: &'static str,
    arguments: Value,
    stop: CancellationToken,
) -> usize {
    let request = v1::CallToolRequest {
        tool: tool.to_owned(),
        device: "kiosk".to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
        timeout_ms: 3_000,
        ..Default::default()
    };
    let mut calls = 0;
    while !stop.is_cancelled() {
        let call = person.ask(request.clone()).await.unwrap();
        assert!(call.state.is_closed() && call.state != CallState::Denied, "{call:?}");
        calls += 1;
    }
    calls
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn programs_that_take_whatever_they_get_hold_up_nobody_else_on_their_device() {
    let world = World::new().await;
    let grants = json!({"profile": "developer", "paths": ["{files}"]});
    let kiosk = world.device("kiosk").grant(grants).ceiling(CEILING).start().await;
    kiosk.write_file("Makefile", MAKEFILE);
    kiosk.write_file("line.txt", "ab".repeat(3 << 19));
    let ann = world.person("ann", Role::Operator).await;
    let agent = kiosk.agent();
    let kiosk = [kiosk];
    measure(world.admin(), &kiosk, Duration::from_secs(1)).await;
    let before = measure(world.admin(), &kiosk, seconds()).await;
    let resident = agent.usage().resident;

    let (stop, mut troubles) = (CancellationToken::new(), JoinSet::new());
    let peak = Peak::watch(agent, stop.clone());
    for target in TARGETS {
        let command = json!({"command": format!("make {target}"), "confirm": true});
        troubles.spawn(repeat(ann.clone(), "execute_command", command, stop.clone()));
    }
    let search = json!({"path": ".", "pattern": "a[ab]{20000}[xyz]"});
    troubles.spawn(repeat(ann.clone(), "search_text", search, stop.clone()));
    let during = measure(world.admin(), &kiosk, seconds()).await;
    stop.cancel();
    let peak = peak.await.unwrap();
    let calls: usize = troubles.join_all().await.into_iter().sum();
    let grown = peak.saturating_sub(resident);
    println!(
        "programs: others before {before}, during {during} and {calls} calls of another person; the agent had {} MiB and grew by {:.1} MiB",
        resident >> 20,
        grown as f64 / f64::from(1 << 20),
    );
    assert!(grown < GROWN, "the agent grew by {grown} bytes");
    assert!(during.p99 < before.p99 + SLOWER, "{before}, then {during}");
}
