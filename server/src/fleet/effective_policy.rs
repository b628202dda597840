//! The effective policy of devices: loaded from the store, cached in the fleet and sent to the devices.

use std::collections::HashMap;

use orion_domain::{Caller, DeviceId, Rule, UserName};
use tokio_util::sync::CancellationToken;

use super::{ActiveTerms, DeviceLink, DeviceSnapshot, Devices};
use crate::bus::Change;
use crate::clock::now_ms;
use crate::store::{DeviceRow, DeviceState, ModeRow, StoreError};

/// Default duration of the dangerous mode, in seconds.
const DANGEROUS_SECONDS: u64 = 15 * 60;
/// Maximum duration of the dangerous mode, in seconds.
const MAX_DANGEROUS_SECONDS: i64 = 8 * 3600;

/// The modes and standing rules of all devices, read at once.
struct ActivePolicy {
    modes: HashMap<DeviceId, ModeRow>,
    rules: HashMap<DeviceId, Vec<Rule>>,
}

impl ActivePolicy {
    async fn read(devices: &Devices) -> Result<Self, StoreError> {
        let modes = devices.store.device_modes().await?;
        Ok(Self { modes, rules: devices.store.standing_rules_by_device(now_ms()).await? })
    }

    /// Returns the terms that are active on this device now.
    fn terms(&mut self, devices: &Devices, row: &DeviceRow) -> ActiveTerms {
        let dangerous = self.modes.remove(&row.id).filter(|mode| mode.until > now_ms());
        let policy = devices.policies.active().terms(&row.name);
        ActiveTerms { policy, dangerous, standing: self.rules.remove(&row.id).unwrap_or_default() }
    }
}

/// Caches every device of the store.
///
/// # Errors
/// The store failed.
pub async fn load_all(devices: &Devices) -> Result<(), StoreError> {
    let mut active = ActivePolicy::read(devices).await?;
    for row in devices.store.devices(false).await? {
        let terms = active.terms(devices, &row);
        cache_with(devices, &row, terms);
    }
    Ok(())
}

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

fn cache_with(devices: &Devices, row: &DeviceRow, terms: ActiveTerms) {
    let facts = row.facts.as_deref().and_then(super::presence::facts_from_json);
    // Grants and a ceiling that cannot be parsed grant nothing.
    let grants = serde_json::from_str(&row.grants).unwrap_or_default();
    let ceiling = row.ceiling.as_deref().map(|json| serde_json::from_str(json).unwrap_or_default());
    let known =
        DeviceSnapshot::new(row.id, row.name.clone(), row.state, facts, grants, ceiling, terms);
    devices.fleet.cache(DeviceSnapshot { key: row.public_key_fingerprint.clone(), ..known });
}

/// Reads the active terms of one device.
async fn terms(devices: &Devices, row: &DeviceRow) -> Result<ActiveTerms, StoreError> {
    let now = now_ms();
    let dangerous = devices.store.device_mode(row.id).await?.filter(|mode| mode.until > now);
    let policy = devices.policies.active().terms(&row.name);
    let standing = devices.store.standing_rules_of(row.id, now).await?;
    Ok(ActiveTerms { policy, dangerous, standing })
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

/// Reloads the devices with standing approvals of a person whose role or access changed: those approvals are
/// active only while the person could give them.
pub async fn person_changed(devices: &Devices, user: &UserName) -> Result<(), StoreError> {
    for id in devices.store.devices_with_rules_of(user, now_ms()).await? {
        // A device whose reload fails is stale, and allows nothing.
        refresh(devices, id).await.ok();
    }
    Ok(())
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

/// Attaches a link that was accepted with the snapshot `greeted`. The link ends immediately where the
/// device lost its approval since, where a newer link is live, or where the device hung up. A policy that
/// changed since is sent.
pub async fn attach(
    devices: &Devices,
    greeted: &DeviceSnapshot,
    link: &DeviceLink,
    hung_up: &CancellationToken,
) {
    let _turn = devices.fleet.reload_lock(greeted.id).await;
    if hung_up.is_cancelled() {
        // The device's older connection may be live, and must not end because of this one.
        return link.end();
    }
    if !devices.fleet.attach(greeted.id, link.clone()) {
        return;
    }
    match devices.fleet.known(greeted.id) {
        Some(known) if known.is_approved() => {
            if known.policy.version != greeted.policy.version
                && link.send(known.policy_message()).is_err()
            {
                devices.fleet.disconnect(greeted.id);
            }
        }
        Some(_) | None => devices.fleet.disconnect(greeted.id),
    }
    devices.bus.publish(Change::Device(greeted.id));
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

/// Ends the dangerous modes that have expired, and updates the devices.
///
/// # Errors
/// The store failed.
pub async fn end_modes(devices: &Devices, now_ms: i64) -> Result<usize, StoreError> {
    let ended = devices.store.end_modes_that_are_over(now_ms).await?;
    let count = ended.len();
    for device in ended {
        tracing::info!(%device, "a device is held strictly again");
        // A device whose reload fails is stale, and allows nothing.
        refresh(devices, device).await.ok();
    }
    Ok(count)
}

/// Why a device's mode was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModeError {
    /// The reason is missing.
    #[error("a reason is required: it is shown to everybody while the mode lasts, and recorded")]
    NoReason,
    /// The duration is too long.
    #[error("a device is held less strictly for 8 hours at most, and for a second at least")]
    TooLong,
    /// The device is not approved.
    #[error("the device is {} and takes no calls", .0.as_str())]
    Held(DeviceState),
    /// The store failed.
    #[error("the database could not be written; nothing was changed")]
    Store(#[from] StoreError),
}

/// Lifts a device's tool list and capabilities for a time, by default 15 minutes.
///
/// # Errors
/// [`ModeError`].
pub async fn begin_dangerous(
    devices: &Devices,
    row: &DeviceRow,
    seconds: u64,
    by: &Caller,
    reason: &str,
) -> Result<(), ModeError> {
    let reason: String = orion_domain::strip_hidden(reason, 500);
    if reason.trim().is_empty() {
        return Err(ModeError::NoReason);
    }
    if row.state != DeviceState::Approved {
        return Err(ModeError::Held(row.state));
    }
    let seconds = if seconds == 0 { DANGEROUS_SECONDS } else { seconds };
    let milliseconds = i64::try_from(seconds).ok().filter(|s| *s <= MAX_DANGEROUS_SECONDS);
    let milliseconds = milliseconds.ok_or(ModeError::TooLong)? * 1000;
    let at = now_ms();
    let (device, by) = (row.id, by.user.clone());
    tracing::warn!(device = %row.name, %by, seconds, "a device's tool list and capabilities are lifted");
    let mode = ModeRow { device, until: at + milliseconds, by, at, reason };
    let shared = devices.clone();
    let work = async move {
        shared.store.begin_dangerous(mode).await?;
        refresh(&shared, device).await?;
        Ok(())
    };
    devices.tasks.run_to_completion(work).await
}

/// Ends a device's dangerous mode. Where it has ended in the store, the device is reloaded.
///
/// # Errors
/// The store failed.
pub async fn end_dangerous(
    devices: &Devices,
    row: &DeviceRow,
    by: &Caller,
    reason: &str,
) -> Result<(), StoreError> {
    let reason: String = orion_domain::strip_hidden(reason, 500);
    let (shared, device, by) = (devices.clone(), row.id, by.user.clone());
    let work = async move {
        shared.store.end_dangerous(device, &by, &reason, now_ms()).await?;
        refresh(&shared, device).await?;
        Ok(())
    };
    devices.tasks.run_to_completion(work).await
}
