//! Calls at a steady rate, whether those before have ended or not: what people do all day.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use orion_domain::CallState;
use orion_tests::{Client, Device, World};
use orion_wire::v1;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::IndexedRandom as _;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::{Value, json};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

/// A file that every device has.
pub(super) const KEPT: &str = "kept.txt";
/// How many connections people have.
const CLIENTS: usize = 4;
/// How many files are written again and again on each device.
const FILES: u32 = 20;
/// How much of what failed is kept.
const TELL: usize = 40;

/// What was done, and how it went.
#[derive(Debug, Default)]
pub(super) struct Done {
    pub(super) calls: u64,
    pub(super) failed: Vec<String>,
    took: Vec<Duration>,
}

/// Work that goes on until it is told to end.
pub(super) struct Work {
    done: Arc<Mutex<Done>>,
    stop: CancellationToken,
    running: JoinHandle<()>,
}

impl Work {
    pub(super) fn begin(
        world: &World,
        devices: &[Device],
        per_second: u32,
        missed: MissedTickBehavior,
    ) -> Self {
        let clients: Vec<_> = (0..CLIENTS)
            .map(|_| Client::new(&world.people_address(), world.admin().token()))
            .collect();
        let names: Vec<_> = devices.iter().map(|device| device.name.clone()).collect();
        let (done, stop) = (Arc::default(), CancellationToken::new());
        let mut ticks = interval(Duration::from_secs(1) / per_second);
        ticks.set_missed_tick_behavior(missed);
        let running = tokio::spawn(run(clients, names, ticks, Arc::clone(&done), stop.clone()));
        Self { done, stop, running }
    }

    /// How many calls have ended, how many of them failed, and what those took that ended since this was
    /// asked the last time.
    pub(super) fn so_far(&self) -> (u64, u64, Vec<Duration>) {
        let mut done = lock(&self.done);
        (done.calls, done.failed.len() as u64, std::mem::take(&mut done.took))
    }

    /// Waits for the last calls.
    pub(super) async fn end(self) -> Done {
        self.stop.cancel();
        self.running.await.unwrap();
        std::mem::take(&mut *lock(&self.done))
    }
}

fn lock(done: &Mutex<Done>) -> MutexGuard<'_, Done> {
    done.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn run(
    clients: Vec<Client>,
    names: Vec<String>,
    mut ticks: Interval,
    done: Arc<Mutex<Done>>,
    stop: CancellationToken,
) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    let mut calls = JoinSet::new();
    while stop.run_until_cancelled(ticks.tick()).await.is_some() {
        let client = clients.choose(&mut random).unwrap().clone();
        let device = names.choose(&mut random).unwrap().clone();
        let (tool, arguments) = something(&mut random);
        calls.spawn(one(client, device, tool, arguments, Arc::clone(&done)));
        while let Some(ended) = calls.try_join_next() {
            ended.unwrap();
        }
    }
    while let Some(ended) = calls.join_next().await {
        ended.unwrap();
    }
}

fn something(random: &mut Xoshiro256PlusPlus) -> (&'static str, Value) {
    match random.random_range(0..10) {
        0..4 => ("get_datetime", json!({})),
        4..6 => {
            let path = format!("notes-{:02}.txt", random.random_range(0..FILES));
            let content = "one of many lines\n".repeat(random.random_range(1..100));
            ("write_file", json!({"path": path, "content": content}))
        }
        6..8 => ("read_file", json!({"path": KEPT})),
        8 => ("list_directory", json!({"path": "."})),
        _ => ("get_device_info", json!({})),
    }
}

async fn one(client: Client, device: String, tool: &str, arguments: Value, done: Arc<Mutex<Done>>) {
    let request = v1::CallToolRequest {
        tool: tool.to_owned(),
        device: device.clone(),
        arguments: arguments.to_string().into_bytes().into(),
        ..Default::default()
    };
    let began = Instant::now();
    let answer = client.ask(request).await;
    let mut done = lock(&done);
    done.calls += 1;
    done.took.push(began.elapsed());
    let failure = match answer {
        Ok(call) if call.state == CallState::Succeeded => return,
        Ok(call) => format!("{tool} on {device}: {} {:?}", call.state, call.envelope),
        Err(status) => format!("{tool} on {device}: {status:?}"),
    };
    if done.failed.len() < TELL {
        done.failed.push(failure);
    }
}
