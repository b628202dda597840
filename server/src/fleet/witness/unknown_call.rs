//! Audits the calls that a device ran and that are missing from the database, up to a limit.

use orion_domain::{CallId, CallState, DeviceId};
use serde::Serialize;

use super::Witnesses;
use crate::clock::now_ms;
use crate::store::{Store, StoreError, Witness};

/// How many calls missing from the database one device can add to the audit log, until the next start.
pub(super) const MAX_UNKNOWN_CALLS: u32 = 100;

#[derive(Serialize)]
struct UnknownCall {
    device_id: DeviceId,
    call_id: CallId,
    state: CallState,
    witness: Witness,
}

/// The device reported more unknown calls, which the audit log leaves out.
#[derive(Serialize)]
struct MoreUnknownCalls {
    device_id: DeviceId,
    told: u32,
}

impl Witnesses {
    /// Audits a call that a device ran and that is missing from the database, as after a restore.
    ///
    /// # Errors
    /// The store failed.
    pub async fn report_unknown(
        &self,
        store: &Store,
        device: DeviceId,
        call: CallId,
        state: CallState,
        witness: Witness,
    ) -> Result<(), StoreError> {
        let count = {
            let mut count = self.unknown.entry(device).or_default();
            *count = count.saturating_add(1);
            *count
        };
        if count == MAX_UNKNOWN_CALLS + 1 {
            let body = MoreUnknownCalls { device_id: device, told: MAX_UNKNOWN_CALLS };
            return store.audit_event("device.more_unknown_calls", body, now_ms()).await;
        }
        if count > MAX_UNKNOWN_CALLS {
            return Ok(());
        }
        let body = UnknownCall { device_id: device, call_id: call, state, witness };
        store.audit_event("device.unknown_call", body, now_ms()).await
    }
}
