//! Reloads the devices on which a standing rule has ended.

use std::time::Duration;

use super::PeriodicJob;
use crate::fleet::{Devices, effective_policy};
use crate::store::StoreError;

/// More than a start takes, in milliseconds: what ended while devices were loaded at the start counts too.
const MAX_START_MS: i64 = 3_600_000;

/// See the module.
#[derive(Debug)]
pub(super) struct EndStandingRules {
    devices: Devices,
    /// Unix milliseconds up to which ended rules are reloaded.
    until: i64,
}

impl EndStandingRules {
    pub(super) const fn new(devices: Devices, now_ms: i64) -> Self {
        Self { devices, until: now_ms - MAX_START_MS }
    }
}

impl PeriodicJob for EndStandingRules {
    const NAME: &'static str = "end_standing_rules";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, now_ms: i64) -> Result<usize, StoreError> {
        let ended = effective_policy::end_rules(&self.devices, self.until, now_ms).await?;
        self.until = now_ms;
        Ok(ended)
    }
}
