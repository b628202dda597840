//! A long time of ordinary work: many devices whose certificates are short-lived, and calls at a steady
//! rate. No call fails, and neither the backend nor the agents grow.
//!
//! `make test-soak` is the long form, an hour; it leaves the readings as JSON and as a plot. The short form
//! is there to find what breaks at once, also on a machine that is busy with other things.

mod flat;
mod plot;
mod reading;
mod work;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use orion_tests::{Device, World, open_record};
use sqlx::Connection as _;
use tokio::time::{Instant, MissedTickBehavior, interval};

use self::flat::Bound;
use self::reading::Reading;
use self::work::Work;

/// How many agents are begun at once.
const AT_ONCE: usize = 8;
/// How many devices may enrol from one address without a pause, and the pause between more.
const WITHOUT_PAUSE: usize = 60;
const PAUSE: Duration = Duration::from_millis(600);
/// How many readings are taken over all.
const READINGS: u32 = 240;
/// The least time between two readings.
const LEAST: Duration = Duration::from_secs(1);

/// How much is done for how long.
struct Scale {
    agents: usize,
    per_second: u32,
    lasts: Duration,
    /// How long certificates are good, in seconds.
    lifetime: u64,
}

impl Scale {
    fn asked_for() -> Self {
        let number = |name: &str, otherwise: u64| {
            std::env::var(name).map_or(otherwise, |text| text.parse().unwrap())
        };
        Self {
            agents: usize::try_from(number("SOAK_AGENTS", 12)).unwrap(),
            per_second: u32::try_from(number("SOAK_RATE", 10)).unwrap(),
            lasts: Duration::from_secs(number("SOAK_SECONDS", 36)),
            lifetime: number("SOAK_CERTIFICATE_SECONDS", 14),
        }
    }

    fn is_long(&self) -> bool {
        self.lasts >= Duration::from_secs(300)
    }

    /// What becomes of the calls that a busy machine was too late for. Made up for all at once, they would be
    /// more than a device takes.
    fn missed(&self) -> MissedTickBehavior {
        if self.is_long() { MissedTickBehavior::Burst } else { MissedTickBehavior::Delay }
    }

    /// How many calls are made at least.
    fn least_calls(&self) -> u64 {
        let tenths = if self.is_long() { 9 } else { 5 };
        u64::from(self.per_second) * self.lasts.as_secs() * tenths / 10
    }

    /// How many certificates each device has at least in that time: they are renewed at two thirds of their
    /// life, later by what a busy machine takes.
    fn renewals(&self) -> u64 {
        self.lasts.as_secs() * 10 / (self.lifetime * 9)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_fails_and_nothing_grows() {
    let scale = Scale::asked_for();
    let world = World::configured(&format!("certificate_seconds = {}\n", scale.lifetime)).await;
    let devices = begin(&world, scale.agents).await;
    let before = counted(&world, "certificate.issued").await;

    let work = Work::begin(&world, &devices, scale.per_second, scale.missed());
    let readings = watch(&world, &devices, &work, scale.lasts).await;
    let done = work.end().await;
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    std::fs::write(folder.join("soak.json"), serde_json::to_vec_pretty(&readings).unwrap())
        .unwrap();
    plot::draw(&folder.join("soak.svg"), &readings).unwrap();

    let renewed = counted(&world, "certificate.issued").await - before;
    let told = flat::told(&readings);
    println!(
        "soak: {} agents for {} s, {} calls, {} failed; {renewed} certificates renewed\n{told}readings and plot: {}",
        scale.agents,
        scale.lasts.as_secs(),
        done.calls,
        done.failed.len(),
        folder.join("soak.{json,svg}").display(),
    );
    assert_eq!(done.failed, Vec::<String>::new(), "what failed");
    let least = scale.least_calls();
    assert!(done.calls > least, "only {} calls, not {least}", done.calls);
    assert!(
        renewed >= scale.renewals() * scale.agents as u64,
        "{renewed} renewals by {} devices",
        scale.agents
    );
    for kind in ["device.chain_broken", "device.other_history", "device.quarantined"] {
        assert_eq!(counted(&world, kind).await, 0, "{kind}");
    }
    for device in devices.iter() {
        let log = device.agent().log();
        assert!(!log.contains("not connected"), "{} lost its link:\n{log}", device.name);
    }
    let verified = world.cli().run(&["audit", "verify"]).await;
    assert_eq!(verified.code, 0, "{verified:?}");
    let bound = if scale.is_long() { Bound::LONG } else { Bound::SHORT };
    assert_eq!(bound.exceeded_by(&readings), Vec::<String>::new(), "what grew");
}

async fn begin(world: &World, count: usize) -> Arc<[Device]> {
    let began = Instant::now();
    let starting = (0..count).map(|index| async move {
        let later = u32::try_from(index.saturating_sub(WITHOUT_PAUSE)).unwrap();
        tokio::time::sleep_until(began + PAUSE * later).await;
        let device = world.device(&format!("device-{index:03}")).start().await;
        device.write_file(work::KEPT, "kept\n".repeat(200));
        device
    });
    let devices: Vec<_> = futures_util::stream::iter(starting).buffered(AT_ONCE).collect().await;
    devices.into()
}

/// Reads how everybody fares, until the time is over.
async fn watch(world: &World, devices: &[Device], work: &Work, lasts: Duration) -> Vec<Reading> {
    let (began, mut readings) = (Instant::now(), Vec::new());
    let mut ticks = interval((lasts / READINGS).max(LEAST));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks.tick().await;
    while began.elapsed() < lasts {
        ticks.tick().await;
        readings.push(Reading::take(world, devices, work, began.elapsed()));
    }
    readings
}

/// How many rows of this kind the audit has.
async fn counted(world: &World, kind: &str) -> u64 {
    let mut record = open_record(&world.database()).await;
    let (count,): (i64,) = sqlx::query_as("SELECT COUNT(*) FROM audit WHERE kind = $1")
        .bind(kind)
        .fetch_one(&mut record)
        .await
        .unwrap();
    record.close().await.unwrap();
    count.try_into().unwrap()
}
