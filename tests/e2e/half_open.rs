//! Links that are bad: half open, in one direction only, slow, late, a byte at a time. What is dead is
//! found by both sides and made again; what is slow works.

use std::time::Duration;

use orion_domain::CallState;
use orion_tests::{Cut, Device, Faults, Flow, Proxy, World};
use orion_wire::v1;
use serde_json::json;
use tokio::time::{Instant, sleep, timeout_at};

/// Within which both sides find that a link is half open.
const FOUND_WITHIN: Duration = Duration::from_secs(20);
/// Within which a healed device is back: the attempt that ran into the hole, and the longest wait
/// after the few that failed.
const BACK_WITHIN: Duration = Duration::from_secs(25);

async fn device(world: &World, name: &str) -> (Proxy, Device) {
    let proxy = world.proxy().await;
    let device = world.device(name).via_proxy(&proxy).start().await;
    (proxy, device)
}

/// How long it takes until something is so.
async fn takes(what: &str, within: Duration, mut is_so: impl AsyncFnMut() -> bool) -> Duration {
    let began = Instant::now();
    let so = async {
        while !is_so().await {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let so = timeout_at(began + within, so).await;
    assert!(so.is_ok(), "{what}: still not after {within:?}");
    began.elapsed()
}

async fn is_online(world: &World, device: &Device) -> bool {
    world.admin().device(&device.name).await.unwrap().online
}

async fn append(world: &World, device: &Device) -> orion_tests::Call {
    let arguments = json!({"path": "log", "content": "once\n", "append": true});
    let request = v1::CallToolRequest {
        tool: "write_file".to_owned(),
        device: device.name.clone(),
        arguments: arguments.to_string().into_bytes().into(),
        ..Default::default()
    };
    world.admin().ask(request).await.unwrap()
}

/// A link that stands and falls silent in this way, with a call under way in it.
#[expect(clippy::print_stdout, reason = "how long it took is of interest")]
async fn falls_silent(world: &World, name: &str, faults: Faults) {
    let (proxy, device) = device(world, name).await;
    assert!(device.is_linked());
    proxy.set(faults);
    let call = append(world, &device);
    let found = async {
        let (offline, unlinked) = (format!("{name}: offline"), format!("{name}: unlinked"));
        let (backend, agent) = tokio::join!(
            takes(&offline, FOUND_WITHIN, async || !is_online(world, &device).await),
            takes(&unlinked, FOUND_WITHIN, async || !device.is_linked()),
        );
        proxy.heal();
        let back = takes(&format!("{name}: back"), BACK_WITHIN, async || {
            device.is_linked() && is_online(world, &device).await
        })
        .await;
        println!(
            "{name}: the backend found it in {:.1} s, the agent in {:.1} s; back {:.1} s after it was healed",
            backend.as_secs_f64(),
            agent.as_secs_f64(),
            back.as_secs_f64()
        );
        device.ready().await;
    };
    let (call, ()) = tokio::join!(call, found);
    takes(&format!("{name}: the truth about {}", call.id), BACK_WITHIN, async || {
        let call = world.admin().recorded(&call.id).await.unwrap();
        call.state.is_closed() && call.state != CallState::Unknown
    })
    .await;
    let call = world.admin().recorded(&call.id).await.unwrap();
    let done = device.tree().remove("log").flatten().unwrap_or_default();
    assert!(["", "once\n"].contains(&done.as_str()), "{name}: done twice");
    assert_eq!(call.state == CallState::Succeeded, done == "once\n", "{name}: {call:?}");
    let next = world.admin().call(name, "get_datetime", json!({})).await;
    assert_eq!(next.state, CallState::Succeeded, "{name}: {next:?}");
}

/// A link on which everything takes its time: calls work, and so does a new connection.
async fn takes_its_time(world: &World, name: &str, flow: Flow) {
    let (proxy, device) = device(world, name).await;
    proxy.set(Faults::both(flow));
    let text = format!("{}\n", "0123456789".repeat(10)).repeat(40);
    for round in 0..2 {
        for _ in 0..5 {
            let call = world.admin().call(name, "get_datetime", json!({})).await;
            assert_eq!(call.state, CallState::Succeeded, "{name}: {call:?}");
        }
        let path = format!("text-{round}");
        let arguments = json!({"path": path, "content": text});
        let written = world.admin().call(name, "write_file", arguments).await;
        assert_eq!(written.state, CallState::Succeeded, "{name}: {written:?}");
        let read = world.admin().call(name, "read_file", json!({"path": path})).await;
        assert_eq!(read.data()["content"], text, "{name}");
        // Until the cut is noticed, both sides say that the device is connected.
        let links = || device.agent().log().matches("connected to ").count();
        let before = links();
        proxy.cut(Cut::Reset);
        takes(&format!("{name}: back"), BACK_WITHIN, async || {
            links() > before && device.is_linked() && is_online(world, &device).await
        })
        .await;
        device.ready().await;
    }
    assert!(is_online(world, &device).await);
}

/// What takes real time, all at once: the keepalives of both sides are seconds apart.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_half_open_link_is_found_by_both_sides_and_a_slow_one_is_used() {
    let world = World::new().await;
    tokio::join!(
        falls_silent(&world, "silent", Faults::both(Flow::Held)),
        falls_silent(&world, "unheard", Faults::up(Flow::Held)),
        falls_silent(&world, "deaf", Faults::down(Flow::Held)),
        takes_its_time(&world, "slow", Flow::Slow(20_000)),
        takes_its_time(&world, "late", Flow::Late(Duration::from_millis(150))),
        takes_its_time(&world, "bytewise", Flow::Bytewise),
    );
}

/// A proxy that turns devices away, and then does not.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_device_that_is_refused_comes_back_when_it_is_let_in() {
    let world = World::new().await;
    let (proxy, device) = device(&world, "kiosk").await;
    for how in [Cut::Reset, Cut::Finish] {
        proxy.set(Faults::refusing());
        proxy.cut(how);
        device.offline().await;
        takes("unlinked", FOUND_WITHIN, async || !device.is_linked()).await;
        proxy.heal();
        takes("back", BACK_WITHIN, async || is_online(&world, &device).await).await;
        device.ready().await;
        let call = world.admin().call("kiosk", "get_datetime", json!({})).await;
        assert_eq!(call.state, CallState::Succeeded, "{how:?}: {call:?}");
    }
}

/// What takes longer than a ping may, on a link that a ping shares with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn much_gets_through_a_slow_link() {
    let world = World::new().await;
    let (proxy, device) = device(&world, "kiosk").await;
    proxy.set(Faults::both(Flow::Slow(20_000)));
    let text = format!("{}\n", "0123456789".repeat(10)).repeat(3_000);
    device.write_file("much", &text);
    for (tool, arguments) in [
        ("read_file", json!({"path": "much", "limit": 100_000})),
        ("write_file", json!({"path": "copy", "content": text})),
    ] {
        let request = v1::CallToolRequest {
            tool: tool.to_owned(),
            device: device.name.clone(),
            arguments: arguments.to_string().into_bytes().into(),
            timeout_ms: 60_000,
            ..Default::default()
        };
        let call = world.admin().ask(request).await.unwrap();
        assert_eq!(call.end(), (CallState::Succeeded, None), "{tool}: {:?}", call.envelope);
    }
}
