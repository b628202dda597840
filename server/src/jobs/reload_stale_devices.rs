//! Reloads the effective policy of devices for which that failed before. Such a device is allowed nothing.

use std::sync::Arc;
use std::time::Duration;

use super::PeriodicJob;
use crate::backend::Backend;
use crate::fleet::enrollment;
use crate::store::StoreError;

/// See the module.
#[derive(Debug)]
pub(super) struct ReloadStaleDevices(pub(super) Arc<Backend>);

impl PeriodicJob for ReloadStaleDevices {
    const NAME: &'static str = "reload_stale_devices";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, _now_ms: i64) -> Result<usize, StoreError> {
        Ok(enrollment::reload_stale(&self.0).await)
    }
}
