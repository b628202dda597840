//! Reloads the devices whose standing rules change without a call: a rule ends, or the person who approved it
//! may no longer approve.

use orion_domain::{DeviceId, UserName};

use super::refresh;
use crate::clock::now_ms;
use crate::fleet::Devices;
use crate::store::StoreError;

/// Reloads the devices with standing approvals and temporary grants of a person whose role or access changed:
/// those are active only while the person could give them. `ended` are the devices whose grants the change ended.
pub async fn person_changed(
    devices: &Devices,
    user: &UserName,
    ended: Vec<DeviceId>,
) -> Result<(), StoreError> {
    let mut ids = ended;
    ids.extend(devices.store.devices_with_rules_of(user, now_ms()).await?);
    ids.extend(devices.store.devices_with_grants_of(user, now_ms()).await?);
    ids.sort_unstable();
    ids.dedup();
    for id in ids {
        // A device whose reload fails is stale, and allows nothing.
        refresh(devices, id).await.ok();
    }
    Ok(())
}

/// Reloads the devices with standing approvals that ended after `since`. Returns how many
/// devices that were.
///
/// # Errors
/// The store failed.
pub async fn end_rules(devices: &Devices, since: i64, now_ms: i64) -> Result<usize, StoreError> {
    let ended = devices.store.devices_whose_rules_ended(since, now_ms).await?;
    let count = ended.len();
    for device in ended {
        tracing::info!(%device, "a rule that was made of an answer has ended");
        // A device whose reload fails is stale, and allows nothing.
        refresh(devices, device).await.ok();
    }
    Ok(count)
}
