//! Periodic work of the backend. One job is one file and one line in [`spawn_all`]; `docs/jobs.md` lists them.
//!
//! Not here: work that an event starts, such as a device that connects.

mod end_access_requests;
mod end_modes;
mod end_standing_rules;
mod expire_approvals;
mod expire_enrollment_requests;
mod expire_plans;
mod expire_queued_calls;
mod log_load;
mod publish_authorities;
mod reconcile_calls;
mod record_chain_heads;
mod reload_stale_devices;
mod run_schedules;
mod sign_audit_log;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::backend::Backend;
use crate::clock::now_ms;
use crate::store::StoreError;
use crate::tasks::Tasks;

/// Work that is due again and again.
pub trait PeriodicJob: Send + 'static {
    /// Its name in the log and in `docs/jobs.md`.
    const NAME: &'static str;
    /// The time between two runs; a run that takes longer delays the next.
    const INTERVAL: Duration;

    /// Does what is due and returns how much that was. Safe to run twice.
    ///
    /// # Errors
    /// The store does not respond. What is left is due at the next run.
    fn run(&mut self, now_ms: i64) -> impl Future<Output = Result<usize, StoreError>> + Send;
}

/// Starts every job, each in a task of its own, so that a slow one delays no other.
pub fn spawn_all(backend: &Backend) {
    let Backend { devices, enrollment, pipeline, notary, store, tasks, .. } = backend;
    let pipeline = || Arc::clone(pipeline);
    spawn(tasks, reload_stale_devices::ReloadStaleDevices(devices.clone()));
    spawn(tasks, end_modes::EndModes(devices.clone()));
    spawn(tasks, end_standing_rules::EndStandingRules::new(devices.clone(), now_ms()));
    spawn(tasks, end_access_requests::EndAccessRequests(devices.clone()));
    spawn(tasks, expire_approvals::ExpireApprovals::new(pipeline()));
    spawn(tasks, expire_enrollment_requests::ExpireEnrollmentRequests(enrollment.clone()));
    spawn(tasks, expire_queued_calls::ExpireQueuedCalls(pipeline()));
    spawn(tasks, expire_plans::ExpirePlans(pipeline()));
    spawn(tasks, publish_authorities::PublishAuthorities(enrollment.clone()));
    spawn(tasks, run_schedules::RunSchedules::new(pipeline()));
    spawn(tasks, reconcile_calls::ReconcileCalls(pipeline()));
    spawn(tasks, record_chain_heads::RecordChainHeads(devices.clone()));
    spawn(tasks, sign_audit_log::SignAuditLog::new(store.clone(), notary.clone()));
    spawn(tasks, log_load::LogLoad(tasks.clone()));
}

fn spawn<J: PeriodicJob>(tasks: &Tasks, mut job: J) {
    let shutdown = tasks.shutdown.clone();
    tasks.background.spawn(async move {
        let mut ticks = interval(J::INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = shutdown.cancelled() => return,
                _ = ticks.tick() => {}
            }
            match job.run(now_ms()).await {
                Ok(0) => {}
                Ok(count) => tracing::debug!(job = J::NAME, count, "a job ran"),
                Err(error) => tracing::error!(job = J::NAME, %error, "a job failed and runs again"),
            }
        }
    });
}
