//! Ends calls whose device was not connected before their queue time ended.

use std::sync::Arc;
use std::time::Duration;

use super::PeriodicJob;
use crate::pipeline::{Pipeline, queue};
use crate::store::StoreError;

/// See the module.
#[derive(Debug)]
pub(super) struct ExpireQueuedCalls(pub(super) Arc<Pipeline>);

impl PeriodicJob for ExpireQueuedCalls {
    const NAME: &'static str = "expire_queued_calls";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, now_ms: i64) -> Result<usize, StoreError> {
        queue::expire(&self.0, now_ms).await
    }
}
