//! Audits what is wrong with a chain, at most once in an interval for each device and kind.

use std::time::{Duration, Instant};

use orion_domain::DeviceId;
use serde::Serialize;

use super::Witnesses;
use crate::clock::now_ms;
use crate::store::{Store, StoreError};

/// Minimum time between two audit rows about one device's chain and of one kind.
const REPORT_INTERVAL: Duration = Duration::from_mins(1);

/// What can be wrong with a chain. Each kind has its own interval, so that none keeps another out of the
/// audit log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Finding {
    Broken,
    OtherHistory,
}

impl Finding {
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::Broken => "device.chain_broken",
            Self::OtherHistory => "device.other_history",
        }
    }
}

impl Witnesses {
    /// Audits a problem, and returns whether it did: the interval of its kind may not be over.
    pub(super) async fn report(
        &self,
        store: &Store,
        device: DeviceId,
        problem: &str,
        finding: Finding,
        body: impl Serialize,
    ) -> Result<bool, StoreError> {
        if !self.may_report(device, finding, Instant::now()) {
            return Ok(false);
        }
        tracing::warn!(%device, problem, "a device's chain and this backend's do not fit");
        if let Err(error) = store.audit_event(finding.kind(), body, now_ms()).await {
            self.last_reported.remove(&(device, finding));
            return Err(error);
        }
        self.flush(store).await;
        Ok(true)
    }

    /// Returns whether this kind of problem may be audited now. A suppressed problem does not extend the
    /// interval.
    pub(super) fn may_report(&self, device: DeviceId, finding: Finding, now: Instant) -> bool {
        let mut may = false;
        self.last_reported
            .entry((device, finding))
            .and_modify(|last| {
                may = now.saturating_duration_since(*last) >= REPORT_INTERVAL;
                if may {
                    *last = now;
                }
            })
            .or_insert_with(|| {
                may = true;
                now
            });
        may
    }
}
