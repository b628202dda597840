//! Expires plans that nobody answered, and ends their calls.

use std::sync::Arc;
use std::time::Duration;

use super::PeriodicJob;
use crate::pipeline::{Pipeline, plan};
use crate::store::StoreError;

/// See the module.
#[derive(Debug)]
pub(super) struct ExpirePlans(pub(super) Arc<Pipeline>);

impl PeriodicJob for ExpirePlans {
    const NAME: &'static str = "expire_plans";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, now_ms: i64) -> Result<usize, StoreError> {
        plan::expire(&self.0, now_ms).await
    }
}
