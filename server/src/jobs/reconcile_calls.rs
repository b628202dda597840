//! Asks connected devices what became of calls that have no known end.

use std::sync::Arc;
use std::time::Duration;

use super::PeriodicJob;
use crate::pipeline::{Pipeline, reconcile};
use crate::store::StoreError;

/// See the module.
#[derive(Debug)]
pub(super) struct ReconcileCalls(pub(super) Arc<Pipeline>);

impl PeriodicJob for ReconcileCalls {
    const NAME: &'static str = "reconcile_calls";
    const INTERVAL: Duration = Duration::from_secs(30);

    async fn run(&mut self, now_ms: i64) -> Result<usize, StoreError> {
        reconcile::ask_all(&self.0, now_ms).await
    }
}
