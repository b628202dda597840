//! Floods from one address: whoever is signed in is served as before, somebody new gets in, and the
//! backend gives back what it took.
//!
//! `make test-floods` lets each flood for 30 seconds and holds it to the figures; here each is short,
//! and the figures are wide enough for a machine that does other work.

mod kinds;

use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use orion_domain::{CallState, Role};
use orion_tests::{Client, Device, Process, World, elsewhere, percentile};
use serde_json::json;
use tokio::task::JoinHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep};
use tokio_util::sync::CancellationToken;

use self::kinds::{FLOODED, Flood, Target};

/// How often the honest call, and how often somebody comes anew.
const CALL_EVERY: Duration = Duration::from_millis(25);
const COME_EVERY: Duration = Duration::from_millis(250);
/// How much more memory the backend may have after a flood, in bytes.
const MAX_KEPT: u64 = 64 << 20;
/// How much more it may have while it lasts.
const MAX_PEAK: u64 = 256 << 20;
/// The slowest in a hundred while a flood lasts: what is asked, and what a busy machine is held to.
const MAX_P99: Duration = Duration::from_millis(50);
const MAX_P99_SHORT: Duration = Duration::from_secs(2);
/// How long it has to give memory back.
const GIVE_BACK: Duration = Duration::from_secs(60);

/// How long each flood lasts, and whether that is the long form.
fn seconds() -> (Duration, bool) {
    let long = std::env::var("FLOOD_SECONDS").ok().map(|text| text.parse().unwrap());
    (Duration::from_secs(long.unwrap_or(3)), long.is_some())
}

/// What honest calls took.
struct Took {
    calls: usize,
    failed: Vec<String>,
    p50: Duration,
    p99: Duration,
}

/// Calls a device at a steady rate.
async fn call(client: &Client, device: &Device, long: Duration) -> Took {
    let (until, mut ticks) = (Instant::now() + long, interval(CALL_EVERY));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let (mut took, mut failed) = (Vec::new(), Vec::new());
    while Instant::now() < until {
        ticks.tick().await;
        let began = Instant::now();
        let request = kinds::call_request(&device.name, "get_datetime", json!({}).to_string());
        match client.ask(request).await {
            Ok(call) if call.state == CallState::Succeeded => took.push(began.elapsed()),
            Ok(call) => failed.push(format!("{call:?}")),
            Err(status) => failed.push(status.to_string()),
        }
    }
    took.sort_unstable();
    let (p50, p99) = (percentile(&took, 50), percentile(&took, 99));
    Took { calls: took.len(), failed, p50, p99 }
}

/// Somebody who comes on a new connection each time, with a token, until it is enough.
fn come(
    from: IpAddr,
    address: String,
    token: String,
    stop: CancellationToken,
) -> JoinHandle<(u32, Vec<String>)> {
    tokio::spawn(async move {
        let (mut came, mut failed, mut ticks) = (0, Vec::new(), interval(COME_EVERY));
        while !stop.is_cancelled() {
            ticks.tick().await;
            let client = Client::from(from, &address, &token);
            match client.auth().who_am_i(orion_wire::v1::WhoAmIRequest {}).await {
                Ok(_) => came += 1,
                Err(status) => failed.push(status.to_string()),
            }
        }
        (came, failed)
    })
}

fn watch(server: Process, stop: CancellationToken) -> Arc<AtomicU64> {
    let peak = Arc::new(AtomicU64::new(0));
    let most = Arc::clone(&peak);
    tokio::spawn(async move {
        while !stop.is_cancelled() {
            most.fetch_max(server.usage().resident, Ordering::Relaxed);
            sleep(Duration::from_millis(50)).await;
        }
    });
    peak
}

/// The backend's memory once it has given back what it will.
async fn afterwards(server: &Process, before: u64, is_long: bool) -> u64 {
    if is_long {
        sleep(GIVE_BACK).await;
        return server.usage().resident;
    }
    let until = Instant::now() + GIVE_BACK;
    loop {
        let now = server.usage().resident;
        if now <= before + MAX_KEPT || Instant::now() > until {
            return now;
        }
        sleep(Duration::from_millis(250)).await;
    }
}

/// Lets a flood come and holds the backend to its promises.
#[expect(clippy::print_stdout, reason = "the figures are what is asked of this")]
async fn stands(flood: Flood) {
    let (long, is_long) = seconds();
    let world = World::new().await;
    let device = world.device("honest").start().await;
    let ann = world.person("ann", Role::Operator).await;
    // A connection of her own, from the address that the flood comes from.
    let ann = Client::new(&world.people_address(), ann.token());
    let viewer = world.person("bob", Role::Viewer).await;
    let server = world.server();
    call(&ann, &device, Duration::from_secs(1)).await;
    let from = flood.newcomers();
    let newcomers = |stop: &CancellationToken| {
        come(from, world.people_address(), ann.token().to_owned(), stop.clone())
    };
    // People come before the flood as they do beside it, so that the flood alone is the difference.
    let quiet = CancellationToken::new();
    let coming = newcomers(&quiet);
    let before = call(&ann, &device, long).await;
    quiet.cancel();
    let (came, shut_out) = coming.await.unwrap();
    assert!(came > 0 && shut_out.is_empty(), "{came} got in before, and not {shut_out:?}");
    let resident = server.usage().resident;

    let stop = CancellationToken::new();
    let peak = watch(server.clone(), stop.clone());
    let target = Target {
        from: FLOODED,
        people: world.people_address().parse().unwrap(),
        devices: world.device_address().parse().unwrap(),
        viewer: viewer.token().to_owned(),
        device: device.name.clone(),
    };
    let elsewhere = elsewhere();
    let flooding = elsewhere.spawn(flood.flow(target, stop.clone()));
    let coming = newcomers(&stop);
    let during = call(&ann, &device, long).await;
    stop.cancel();
    let (came, shut_out) = coming.await.unwrap();
    let sent = flooding.await.unwrap();
    elsewhere.shutdown_background();
    let after = afterwards(&server, resident, is_long).await;
    let peak = peak.load(Ordering::Relaxed).saturating_sub(resident);
    let kept = after.saturating_sub(resident);

    let ms = |took: Duration| took.as_secs_f64() * 1e3;
    println!(
        "{flood:?}: {sent}; calls {} of {}, p50 {:.1} → {:.1} ms, p99 {:.1} → {:.1} ms; {came} of {} came anew; {} MiB before, at most +{}, then +{}",
        during.calls,
        during.calls + during.failed.len(),
        ms(before.p50),
        ms(during.p50),
        ms(before.p99),
        ms(during.p99),
        came as usize + shut_out.len(),
        resident >> 20,
        peak >> 20,
        kept >> 20,
    );
    let (connections, megabytes) = if is_long { flood.least() } else { (1, 0) };
    let is_flood = sent.connections >= connections && sent.bytes >= megabytes * 1_000_000;
    assert!(is_flood, "there was hardly a flood: {sent}");
    assert_eq!(before.failed, Vec::<String>::new(), "calls failed before the flood");
    assert_eq!(during.failed, Vec::<String>::new(), "calls failed during the flood");
    assert!(kept <= MAX_KEPT, "the backend keeps {kept} bytes more than before");
    assert!(peak <= MAX_PEAK, "the backend took {peak} bytes more than before");
    let most = if is_long { MAX_P99.min(2 * before.p99) } else { MAX_P99_SHORT };
    assert!(during.p99 <= most, "p99 was {:?} and became {:?}", before.p99, during.p99);
    assert!(came > 0, "nobody new came during the flood");
    assert_eq!(shut_out, Vec::<String>::new(), "somebody new did not get in");
}

macro_rules! floods {
    ($($name:ident: $flood:ident,)*) => {$(
        #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
        async fn $name() {
            stands(Flood::$flood).await;
        }
    )*};
}

floods! {
    streams_to_an_unknown_path_that_are_never_read: UnknownPaths,
    requests_over_http_1_whose_answers_are_never_read: Http1,
    requests_with_huge_headers: HugeHeaders,
    connections_that_say_nothing: Silent,
    connections_that_say_one_byte_at_a_time: Dripping,
    handshakes_that_do_not_go_on: Handshakes,
    pings: Pings,
    settings: Settings,
    updates_of_windows: WindowUpdates,
    priorities: Priorities,
    requests_that_are_reset_at_once: RapidReset,
    headers_that_go_on_and_on: Continuations,
    wrong_passwords: Logins,
    wrong_passwords_of_clients_that_hang_up: HungUpLogins,
    logins_that_are_never_said_to_their_end: UnfinishedLogins,
    arguments_of_many_keys_of_somebody_who_may_not_call: ManyKeys,
}
