//! Records the heads of the devices' audit chains that arrived since the last run.

use std::time::Duration;

use super::PeriodicJob;
use crate::fleet::Devices;
use crate::store::StoreError;

/// See the module.
#[derive(Debug)]
pub(super) struct RecordChainHeads(pub(super) Devices);

impl PeriodicJob for RecordChainHeads {
    const NAME: &'static str = "record_chain_heads";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, _now_ms: i64) -> Result<usize, StoreError> {
        self.0.fleet.witnesses().flush(&self.0.store).await;
        Ok(0)
    }
}
