//! Makes the calls of tasks whose time has come.

use std::sync::Arc;
use std::time::Duration;

use super::PeriodicJob;
use crate::pipeline::Pipeline;
use crate::schedules;
use crate::store::StoreError;

/// See the module.
#[derive(Debug)]
pub(super) struct RunSchedules {
    pipeline: Arc<Pipeline>,
    /// Whether the calls that an earlier process had claimed are made.
    is_recovered: bool,
}

impl RunSchedules {
    pub(super) const fn new(pipeline: Arc<Pipeline>) -> Self {
        Self { pipeline, is_recovered: false }
    }
}

impl PeriodicJob for RunSchedules {
    const NAME: &'static str = "run_schedules";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, now_ms: i64) -> Result<usize, StoreError> {
        let mut made = 0;
        if !self.is_recovered {
            made += schedules::recover(&self.pipeline).await?;
            self.is_recovered = true;
        }
        Ok(made + schedules::run_due(&self.pipeline, now_ms).await?)
    }
}
