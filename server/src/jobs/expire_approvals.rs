//! Expires approval requests that nobody answered, and ends their calls.

use std::sync::Arc;
use std::time::Duration;

use super::PeriodicJob;
use crate::pipeline::{Pipeline, confirm};
use crate::store::StoreError;

/// See the module.
#[derive(Debug)]
pub(super) struct ExpireApprovals(pub(super) Arc<Pipeline>);

impl PeriodicJob for ExpireApprovals {
    const NAME: &'static str = "expire_approvals";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, now_ms: i64) -> Result<usize, StoreError> {
        confirm::expire(&self.0, now_ms).await
    }
}
