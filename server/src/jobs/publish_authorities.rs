//! Takes in certificate authorities that were rotated or retired on the disk, and records them.

use std::time::Duration;

use super::PeriodicJob;
use crate::fleet::enrollment::{self, Enrollment};
use crate::store::StoreError;

/// See the module.
#[derive(Debug)]
pub(super) struct PublishAuthorities(pub(super) Enrollment);

impl PeriodicJob for PublishAuthorities {
    const NAME: &'static str = "publish_authorities";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, now_ms: i64) -> Result<usize, StoreError> {
        Ok(enrollment::keep_authorities(&self.0, now_ms).await)
    }
}
