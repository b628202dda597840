//! Ends approval requests, with their calls: those that nobody answered, and those that a change of permissions
//! outdated.

use std::sync::Arc;
use std::time::Duration;

use super::PeriodicJob;
use crate::pipeline::Pipeline;
use crate::pipeline::confirm::{self, SeenRequests};
use crate::store::StoreError;

/// See the module.
#[derive(Debug)]
pub(super) struct ExpireApprovals {
    pipeline: Arc<Pipeline>,
    seen: SeenRequests,
}

impl ExpireApprovals {
    /// Creates the job.
    pub(super) fn new(pipeline: Arc<Pipeline>) -> Self {
        Self { pipeline, seen: SeenRequests::default() }
    }
}

impl PeriodicJob for ExpireApprovals {
    const NAME: &'static str = "expire_approvals";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, now_ms: i64) -> Result<usize, StoreError> {
        let expired = confirm::expire(&self.pipeline, now_ms).await?;
        Ok(expired + confirm::end_outdated(&self.pipeline, &mut self.seen).await?)
    }
}
