//! Reloads the effective policy of devices for which that failed before. Such a device is allowed nothing.

use std::time::Duration;

use super::PeriodicJob;
use crate::fleet::{Devices, effective_policy};
use crate::store::StoreError;

/// See the module.
#[derive(Debug)]
pub(super) struct ReloadStaleDevices(pub(super) Devices);

impl PeriodicJob for ReloadStaleDevices {
    const NAME: &'static str = "reload_stale_devices";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, _now_ms: i64) -> Result<usize, StoreError> {
        Ok(effective_policy::reload_stale(&self.0).await)
    }
}
