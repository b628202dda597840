//! Signs a checkpoint over the audit log once enough entries are new, or some entry has waited for a minute.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::PeriodicJob;
use crate::notary::Notary;
use crate::store::{Store, StoreError};

/// How many new entries make a checkpoint due.
const ENTRIES: u64 = 1_024;
/// How long a new entry waits for one at most.
const MAX_AGE: Duration = Duration::from_mins(1);

/// See the module.
#[derive(Debug)]
pub(super) struct SignAuditLog {
    store: Store,
    notary: Arc<Notary>,
    signed_at: Instant,
    /// Whether the last attempt failed. The next then reads all new entries again, so it waits for its time.
    has_failed: bool,
}

impl SignAuditLog {
    pub(super) fn new(store: Store, notary: Arc<Notary>) -> Self {
        Self { store, notary, signed_at: Instant::now(), has_failed: false }
    }
}

impl PeriodicJob for SignAuditLog {
    const NAME: &'static str = "sign_audit_log";
    const INTERVAL: Duration = Duration::from_secs(1);

    async fn run(&mut self, _now_ms: i64) -> Result<usize, StoreError> {
        let Self { store, notary, .. } = self;
        let entries = u64::try_from(store.audit_head().await?.seq).unwrap_or_default();
        let new = entries.saturating_sub(notary.size().await);
        if (new >= ENTRIES && !self.has_failed) || (new > 0 && self.signed_at.elapsed() >= MAX_AGE)
        {
            self.signed_at = Instant::now();
            // The notary logs what keeps it from signing.
            self.has_failed = notary.sign(store).await.is_err();
        }
        Ok(0)
    }
}
