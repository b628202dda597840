//! Periodic work of the backend. One job is one file and one line in [`spawn_all`]; `docs/jobs.md` lists them.
//!
//! Not here: work that an event starts, such as a device that connects.

mod end_modes;
mod end_standing_rules;
mod expire_approvals;
mod expire_plans;
mod expire_queued_calls;
mod log_load;
mod publish_authorities;
mod reconcile_calls;
mod record_chain_heads;
mod reload_stale_devices;
mod sign_audit_log;

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{MissedTickBehavior, interval};

use crate::backend::Backend;
use crate::clock::now_ms;
use crate::store::StoreError;

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
pub fn spawn_all(backend: &Arc<Backend>) {
    spawn(backend, reload_stale_devices::ReloadStaleDevices(Arc::clone(backend)));
    spawn(backend, end_modes::EndModes(Arc::clone(backend)));
    spawn(backend, end_standing_rules::EndStandingRules::new(Arc::clone(backend), now_ms()));
    spawn(backend, expire_approvals::ExpireApprovals(Arc::clone(backend)));
    spawn(backend, expire_queued_calls::ExpireQueuedCalls(Arc::clone(backend)));
    spawn(backend, expire_plans::ExpirePlans(Arc::clone(backend)));
    spawn(backend, publish_authorities::PublishAuthorities(Arc::clone(backend)));
    spawn(backend, reconcile_calls::ReconcileCalls(Arc::clone(backend)));
    spawn(backend, record_chain_heads::RecordChainHeads(Arc::clone(backend)));
    spawn(backend, sign_audit_log::SignAuditLog::new(Arc::clone(backend)));
    spawn(backend, log_load::LogLoad(Arc::clone(backend)));
}

fn spawn<J: PeriodicJob>(backend: &Arc<Backend>, mut job: J) {
    let shutdown = backend.shutdown.clone();
    backend.tasks.spawn(async move {
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
