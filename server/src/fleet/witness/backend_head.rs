//! Compares the head of this backend's chain that a device saw with the database.

use orion_domain::DeviceId;
use orion_domain::audit::AuditHead;
use serde::Serialize;

use super::Witnesses;
use super::chain::WitnessedChain;
use super::finding::Finding;
use crate::store::{Store, StoreError};

#[derive(Serialize)]
pub(super) struct OtherHistory {
    device_id: DeviceId,
    /// The head of this backend's chain that the device saw.
    saw: AuditHead,
    /// This backend's head when the device reported that.
    own: AuditHead,
}

impl Witnesses {
    /// Checks the head of this backend's chain that a device last saw. Where it is missing here, the database
    /// was restored to an older state, or replaced.
    ///
    /// # Errors
    /// The store failed.
    pub async fn received_backend_head(
        &self,
        store: &Store,
        device: DeviceId,
        saw: AuditHead,
    ) -> Result<(), StoreError> {
        if saw == AuditHead::EMPTY || store.audit_hash(saw.seq).await? == Some(saw.hash) {
            return Ok(());
        }
        let own = store.audit_head().await?;
        let problem = format!(
            "it saw row {} of this backend's audit, which is another now or not there: the database was restored to an older state",
            saw.seq
        );
        self.chains.entry(device).or_insert(WitnessedChain::NOTHING).blame(&problem);
        // A device repeats this on each connection, until it has seen a newer head.
        if self.seen.get(&device).is_some_and(|seen| *seen == saw) {
            return Ok(());
        }
        let body = OtherHistory { device_id: device, saw, own };
        if self.report(store, device, &problem, Finding::OtherHistory, body).await? {
            self.seen.insert(device, saw);
        }
        Ok(())
    }
}
