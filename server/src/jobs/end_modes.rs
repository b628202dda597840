//! Ends the modes of devices whose time is over.

use std::time::Duration;

use super::PeriodicJob;
use crate::fleet::{Devices, effective_policy};
use crate::store::StoreError;

/// See the module.
#[derive(Debug)]
pub(super) struct EndModes(pub(super) Devices);

impl PeriodicJob for EndModes {
    const NAME: &'static str = "end_modes";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, now_ms: i64) -> Result<usize, StoreError> {
        effective_policy::end_modes(&self.0, now_ms).await
    }
}
