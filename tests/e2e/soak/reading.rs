//! How everybody fares at one moment.

use std::time::Duration;

use orion_tests::{Device, Usage, World, percentile};
use serde::Serialize;

use super::work::Work;

/// See the module.
#[derive(Debug, Clone, Default, Serialize)]
pub(super) struct Reading {
    /// Since the work began, in seconds.
    pub(super) at: f64,
    /// Calls that have ended, and how many of them failed.
    pub(super) calls: u64,
    pub(super) failed: u64,
    /// What the calls since the reading before took, in milliseconds.
    pub(super) p50: f64,
    pub(super) p99: f64,
    /// The backend's resident memory in MiB, its descriptors, threads and tasks.
    pub(super) memory: f64,
    pub(super) descriptors: f64,
    pub(super) threads: f64,
    pub(super) tasks: f64,
    /// The same of an agent, on average.
    pub(super) agent_memory: f64,
    pub(super) agent_descriptors: f64,
    pub(super) agent_threads: f64,
}

impl Reading {
    pub(super) fn take(world: &World, devices: &[Device], work: &Work, at: Duration) -> Self {
        let (calls, failed, mut took) = work.so_far();
        took.sort_unstable();
        let percentile = |percent| percentile(&took, percent).as_secs_f64() * 1e3;
        let backend = world.server().usage();
        let agents: Usage = devices.iter().map(|device| device.agent().usage()).sum();
        let each = |sum: u64| sum as f64 / devices.len() as f64;
        let mebibytes = f64::from(1 << 20);
        Self {
            at: at.as_secs_f64(),
            calls,
            failed,
            p50: percentile(50),
            p99: percentile(99),
            memory: backend.resident as f64 / mebibytes,
            descriptors: backend.descriptors as f64,
            threads: backend.threads as f64,
            tasks: tasks(&world.server().log()),
            agent_memory: each(agents.resident) / mebibytes,
            agent_descriptors: each(agents.descriptors),
            agent_threads: each(agents.threads),
        }
    }
}

/// How many tasks the backend said that it has, the last time that it did.
fn tasks(log: &str) -> f64 {
    let said = log.lines().rev().find_map(|line| line.split_once("alive tasks="));
    let Some((_, tasks)) = said else { panic!("the backend says how many tasks it has") };
    tasks.split(' ').next().unwrap().parse().unwrap()
}
