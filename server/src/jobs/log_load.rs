//! Logs how much is under way, where the log shows `debug`.

use std::time::Duration;

use super::PeriodicJob;
use crate::store::StoreError;
use crate::tasks::Tasks;

/// See the module.
#[derive(Debug)]
pub(super) struct LogLoad(pub(super) Tasks);

impl PeriodicJob for LogLoad {
    const NAME: &'static str = "log_load";
    const INTERVAL: Duration = Duration::from_secs(5);

    async fn run(&mut self, _now_ms: i64) -> Result<usize, StoreError> {
        let tasks = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        tracing::debug!(tasks, calls = self.0.calls.len(), "alive");
        Ok(0)
    }
}
