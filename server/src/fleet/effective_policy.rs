//! The effective policy of devices: loaded from the store, cached in the fleet and sent to the devices.

mod attach;
mod dangerous_mode;
mod load;
mod standing_rules;
mod temporary_grants;

use std::collections::HashMap;

use orion_domain::DeviceId;

use super::{ActiveTerms, Devices};
use crate::bus::Change;
use crate::store::{DeviceRow, DeviceState, StoreError};

pub use attach::attach;
pub use dangerous_mode::{ModeError, begin_dangerous, end_dangerous, end_modes};
pub use load::load_all;
use load::{ActivePolicy, cache_with, terms};
pub use standing_rules::{end_rules, person_changed};
pub use temporary_grants::end_due_requests;

/// Does the same as [`refresh`] for every device whose identity has not ended, in one read. Where the read
/// fails, all of them allow nothing until [`reload_stale`] succeeds.
pub async fn refresh_all(devices: &Devices) {
    // Every reload lock is held, so that no task caches an older read in between.
    let mut ids: Vec<_> = devices.fleet.all().iter().map(|known| known.id).collect();
    ids.sort_unstable();
    let mut locks = HashMap::with_capacity(ids.len());
    for id in ids {
        locks.insert(id, devices.fleet.reload_lock(id).await);
    }
    let read = async {
        let active = ActivePolicy::read(devices).await?;
        Ok::<_, StoreError>((active, devices.store.devices(false).await?))
    };
    let (mut active, rows) = match read.await {
        Ok(read) => read,
        Err(error) => {
            tracing::error!(%error, "what holds on the devices could not be read, so nothing is allowed there");
            locks.keys().for_each(|id| devices.fleet.mark_stale(*id));
            return;
        }
    };
    for row in rows {
        // A device that enrolled since then is cached already.
        let Some(lock) = locks.remove(&row.id) else { continue };
        if !has_ended(row.state) {
            let terms = active.terms(devices, &row);
            take_over(devices, &row, terms);
            devices.fleet.mark_fresh(row.id);
        }
        drop(lock);
        tokio::task::yield_now().await;
    }
}

const fn has_ended(state: DeviceState) -> bool {
    matches!(state, DeviceState::Revoked | DeviceState::Rejected)
}

/// Reloads a device after a change, and applies the change to its live link. A device that may no longer
/// connect is disconnected, and a changed policy is sent. Where the store fails, the device allows nothing
/// until [`reload_stale`] succeeds.
///
/// # Errors
/// The store failed.
pub async fn refresh(devices: &Devices, id: DeviceId) -> Result<DeviceRow, StoreError> {
    let _turn = devices.fleet.reload_lock(id).await;
    let reloaded = reload(devices, id).await;
    match &reloaded {
        Ok(_) => devices.fleet.mark_fresh(id),
        Err(error) => {
            tracing::error!(device = %id, %error, "what holds on a device could not be read, so nothing is allowed there");
            devices.fleet.mark_stale(id);
        }
    }
    reloaded
}

/// Reloads the devices whose snapshots are stale.
pub async fn reload_stale(devices: &Devices) -> usize {
    let stale = devices.fleet.behind();
    let count = stale.len();
    for id in stale {
        if let Err(error) = refresh(devices, id).await {
            // The device stays stale, allows nothing, and is retried; the others do not wait for it.
            tracing::warn!(device = %id, %error, "what holds on a device could not be read");
        }
    }
    count
}

async fn reload(devices: &Devices, id: DeviceId) -> Result<DeviceRow, StoreError> {
    let row = devices.store.device_by_id(id).await?;
    // Revocation comes first, so that no later failure leaves a certificate valid.
    if has_ended(row.state) {
        devices.fleet.revoke(devices.store.certificates_of(id).await?);
    }
    let terms = terms(devices, &row).await?;
    take_over(devices, &row, terms);
    Ok(row)
}

/// Caches a row with its terms, and applies the change to the device's live link.
fn take_over(devices: &Devices, row: &DeviceRow, terms: ActiveTerms) {
    let id = row.id;
    let before = devices.fleet.known(id).map(|known| known.policy.version.clone());
    cache_with(devices, row, terms);
    match devices.fleet.known(id) {
        Some(known) if known.is_approved() => {
            let is_sent = before.as_ref() == Some(&known.policy.version)
                || !devices.fleet.is_online(id)
                || devices.fleet.notify(id, known.policy_message());
            if !is_sent {
                // The message was not queued; a new connection starts with the policy.
                devices.fleet.disconnect(id);
            }
        }
        Some(_) | None => devices.fleet.disconnect(id),
    }
    devices.bus.publish(Change::Device(id));
}
