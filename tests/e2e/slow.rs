//! Devices that hold up nobody but themselves: some that take nothing they are told, and one that says
//! more than anybody wants to hear. The others are as quick as before, and the backend does not grow.
//!
//! The figures are for a release build, which `make test-slow` makes; elsewhere the bound on time is
//! only there to find what hangs.

mod figures;
mod flood;
mod programs;

use std::time::Duration;

use orion_domain::{CallState, Role};
use orion_tests::{Client, Device, Faults, Flow, LyingAgent, World, elsewhere};
use orion_wire::v1;
use serde_json::json;
use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use self::figures::{Peak, measure};

/// Devices that are asked all the while.
const OTHERS: usize = 4;
/// How many people keep asking each device that takes nothing, and how much they send each time, in
/// bytes.
const ASKING_EACH: usize = 16;
const SENT: usize = 64 * 1024;
/// How long a client waits that was turned away.
const RETRY: Duration = Duration::from_millis(250);
/// By how much the others' slowest in a hundred may be slower than before. A debug build is held to no
/// speed, only to getting on.
const SLOWER: Duration = Duration::from_millis(if cfg!(debug_assertions) { 10_000 } else { 10 });
/// By how much the backend may grow, in bytes.
const GROWN: u64 = 64 * 1024 * 1024;

fn seconds() -> Duration {
    Duration::from_secs(std::env::var("SLOW_SECONDS").map_or(4, |text| text.parse().unwrap()))
}

/// Asks a device that takes nothing, again and again.
async fn ask(address: String, token: String, device: String, stop: CancellationToken) {
    let person = Client::new(&address, &token);
    let arguments = json!({"path": "x", "content": "0123456789abcde\n".repeat(SENT / 16)});
    let request = v1::CallToolRequest {
        tool: "write_file".to_owned(),
        device,
        arguments: arguments.to_string().into_bytes().into(),
        timeout_ms: 1_500,
        ..Default::default()
    };
    while !stop.is_cancelled() {
        let call = person.ask(request.clone()).await.unwrap();
        assert_ne!(call.state, CallState::Succeeded, "it takes nothing: {call:?}");
        if call.state == CallState::Denied {
            // Turned away at once; a client waits before it tries again.
            sleep(RETRY).await;
        }
    }
}

/// A device that answers for a moment, and from then on reads nothing.
async fn deaf(world: &World) -> (Device, LyingAgent) {
    let device = world.device("deaf").enroll().await;
    let agent = LyingAgent::connect(&device, &world.device_address(), 1).await.unwrap();
    device.ready().await;
    (device, agent)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_takes_nothing_and_who_says_too_much_hold_up_nobody_else() {
    let world = World::new().await;
    let mut others = Vec::new();
    for index in 0..OTHERS {
        others.push(world.device(&format!("other-{index}")).start().await);
    }
    let (deaf, agent) = deaf(&world).await;
    let proxy = world.proxy().await;
    let cut_off = world.device("cut-off").via_proxy(&proxy).start().await;
    let loud = world.device("loud").enroll().await;
    let ann = world.person("ann", Role::Operator).await;

    let server = world.server();
    measure(world.admin(), &others, Duration::from_secs(1)).await;
    let before = measure(world.admin(), &others, seconds()).await;
    let resident_before = server.usage().resident;

    let (stop, mut troubles) = (CancellationToken::new(), JoinSet::new());
    let peak = Peak::watch(server, stop.clone());
    proxy.set(Faults::down(Flow::Held));
    let elsewhere = elsewhere();
    for name in [&deaf.name, &cut_off.name] {
        for _ in 0..ASKING_EACH {
            let (address, token) = (world.people_address(), ann.token().to_owned());
            let asking = ask(address, token, name.clone(), stop.clone());
            troubles.spawn_on(asking, elsewhere.handle());
        }
    }
    let flood = flood::begin(&elsewhere, &world, loud, stop.clone()).await;
    let during = measure(world.admin(), &others, seconds()).await;
    stop.cancel();
    let (taken, peak) = (flood.await.unwrap(), peak.await.unwrap());
    while let Some(ended) = troubles.join_next().await {
        ended.unwrap();
    }
    proxy.heal();
    drop(agent);
    elsewhere.shutdown_background();

    let grown = peak.saturating_sub(resident_before);
    println!(
        "slow: others before {before}, during {during}; {taken}; the backend had {} MiB and grew by {:.1} MiB",
        resident_before >> 20,
        grown as f64 / f64::from(1 << 20),
    );
    assert!(grown < GROWN, "the backend grew by {grown} bytes");
    assert!(
        during.p99 < before.p99 + SLOWER,
        "the others' p99 was {:?} and became {:?}",
        before.p99,
        during.p99
    );
}
