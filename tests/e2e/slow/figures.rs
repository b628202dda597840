//! How quick devices answer, and how large a process was at most.

use std::fmt;
use std::time::Duration;

use orion_domain::CallState;
use orion_tests::{Client, Device, Process, percentile};
use serde_json::json;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// How often each device is asked.
const EVERY: Duration = Duration::from_millis(5);
/// How often is looked at how large a process is.
const LOOK_EVERY: Duration = Duration::from_millis(20);

/// What calls took.
pub(super) struct Took {
    calls: usize,
    p50: Duration,
    pub(super) p99: Duration,
}

impl fmt::Display for Took {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { calls, p50, p99 } = self;
        let ms = |took: &Duration| took.as_secs_f64() * 1e3;
        write!(f, "p50 {:.1} ms, p99 {:.1} ms of {calls}", ms(p50), ms(p99))
    }
}

/// Asks each device what time it is, over and over, for so long.
pub(super) async fn measure(client: &Client, devices: &[Device], long: Duration) -> Took {
    let mut asking = JoinSet::new();
    for device in devices {
        let (client, device) = (client.clone(), device.name.clone());
        asking.spawn(async move {
            let (until, mut ticks) = (Instant::now() + long, interval(EVERY));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            let mut took = Vec::new();
            while Instant::now() < until {
                ticks.tick().await;
                let began = Instant::now();
                let call = client.call(&device, "get_datetime", json!({})).await;
                took.push(began.elapsed());
                assert_eq!(call.state, CallState::Succeeded, "{call:?}");
            }
            took
        });
    }
    let mut took: Vec<_> = asking.join_all().await.into_iter().flatten().collect();
    took.sort_unstable();
    Took { calls: took.len(), p50: percentile(&took, 50), p99: percentile(&took, 99) }
}

/// The largest that a process was.
pub(super) struct Peak;

impl Peak {
    pub(super) fn watch(process: Process, stop: CancellationToken) -> JoinHandle<u64> {
        tokio::spawn(async move {
            let (mut most, mut ticks) = (0, interval(LOOK_EVERY));
            while !stop.is_cancelled() {
                ticks.tick().await;
                most = most.max(process.usage().resident);
            }
            most
        })
    }
}
