//! Ends requests for access that nobody answered, and temporary grants whose time is over.

use std::time::Duration;

use super::PeriodicJob;
use crate::fleet::{Devices, effective_policy};
use crate::store::StoreError;

/// See the module.
#[derive(Debug)]
pub(super) struct EndAccessRequests(pub(super) Devices);

impl PeriodicJob for EndAccessRequests {
    const NAME: &'static str = "end_access_requests";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, now_ms: i64) -> Result<usize, StoreError> {
        effective_policy::end_due_requests(&self.0, now_ms).await
    }
}
