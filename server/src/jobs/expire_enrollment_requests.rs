//! Ends the requests of devices that ask to be enrolled by a code, once the code's time is over.

use std::time::Duration;

use super::PeriodicJob;
use crate::fleet::enrollment::{Enrollment, by_code};
use crate::store::StoreError;

/// See the module.
#[derive(Debug)]
pub(super) struct ExpireEnrollmentRequests(pub(super) Enrollment);

impl PeriodicJob for ExpireEnrollmentRequests {
    const NAME: &'static str = "expire_enrollment_requests";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, now_ms: i64) -> Result<usize, StoreError> {
        by_code::expire(&self.0, now_ms).await
    }
}
