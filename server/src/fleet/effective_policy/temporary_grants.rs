//! Ends temporary grants and requests for access whose time is over, and reloads their devices.

use super::refresh;
use crate::bus::Change;
use crate::fleet::Devices;
use crate::store::{AccessRequestState, StoreError};

/// Ends the requests that nobody answered in time, and the grants that are over. Returns how many those were.
///
/// # Errors
/// The store failed.
pub async fn end_due_requests(devices: &Devices, now_ms: i64) -> Result<usize, StoreError> {
    let ended = devices.store.end_due_access_requests(now_ms).await?;
    for row in &ended {
        if row.state == AccessRequestState::Ended {
            tracing::info!(request = %row.id, user = %row.requester, device = %row.device.1, "a temporary grant has ended");
            // A device whose reload fails is stale, and allows nothing.
            refresh(devices, row.device.0).await.ok();
        }
        devices.bus.publish(Change::AccessRequest(row.id));
    }
    Ok(ended.len())
}
