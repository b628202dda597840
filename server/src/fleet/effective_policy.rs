//! What holds on a device, taken from the record into the fleet and told to the device.

use std::collections::HashMap;
use std::sync::Arc;

use orion_domain::{Caller, DeviceId, Rule, UserName};
use tokio_util::sync::CancellationToken;

use super::{ActiveTerms, DeviceSnapshot, Session};
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::store::{DeviceRow, DeviceState, ModeRow, StoreError};

/// How long a device is held less strictly when nobody says, in seconds.
const DANGEROUS_SECONDS: u64 = 15 * 60;
/// How long it may be, in seconds.
const LONGEST_SECONDS: i64 = 8 * 3600;

/// What holds on devices besides what each has of its own, read once for all of them.
struct ActivePolicy {
    modes: HashMap<DeviceId, ModeRow>,
    rules: HashMap<DeviceId, Vec<Rule>>,
}

impl ActivePolicy {
    async fn read(backend: &Backend) -> Result<Self, StoreError> {
        let modes = backend.store.device_modes().await?;
        Ok(Self { modes, rules: backend.store.standing_rules_by_device(now_ms()).await? })
    }

    /// What holds on this device at this moment.
    fn terms(&mut self, backend: &Backend, row: &DeviceRow) -> ActiveTerms {
        let dangerous = self.modes.remove(&row.id).filter(|mode| mode.until > now_ms());
        let policy = backend.policies.active().terms(&row.name);
        ActiveTerms { policy, dangerous, standing: self.rules.remove(&row.id).unwrap_or_default() }
    }
}

/// Takes every row of the record into the fleet.
///
/// # Errors
/// The record cannot be read.
pub async fn load_all(backend: &Backend) -> Result<(), StoreError> {
    let mut held = ActivePolicy::read(backend).await?;
    for row in backend.store.devices(false).await? {
        let terms = held.terms(backend, &row);
        cache_with(backend, &row, terms);
    }
    Ok(())
}

/// The same as [`refresh`] for every device whose identity has not ended, in one read. Where that fails
/// nothing is allowed on any of them until [`reload_stale`] has read it.
pub async fn refresh_all(backend: &Backend) {
    // Nobody else takes in what was read before: each waits until its device is done.
    let mut ids: Vec<_> = backend.fleet.all().iter().map(|known| known.id).collect();
    ids.sort_unstable();
    let mut turns = HashMap::with_capacity(ids.len());
    for id in ids {
        turns.insert(id, backend.fleet.reload_lock(id).await);
    }
    let read = async {
        let held = ActivePolicy::read(backend).await?;
        Ok::<_, StoreError>((held, backend.store.devices(false).await?))
    };
    let (mut held, rows) = match read.await {
        Ok(read) => read,
        Err(error) => {
            tracing::error!(%error, "what holds on the devices could not be read, so nothing is allowed there");
            turns.keys().for_each(|id| backend.fleet.mark_stale(*id));
            return;
        }
    };
    for row in rows {
        // A device that came meanwhile was taken in as it is now.
        let Some(turn) = turns.remove(&row.id) else { continue };
        if !has_ended(row.state) {
            let terms = held.terms(backend, &row);
            take_over(backend, &row, terms);
            backend.fleet.mark_fresh(row.id);
        }
        drop(turn);
        tokio::task::yield_now().await;
    }
}

const fn has_ended(state: DeviceState) -> bool {
    matches!(state, DeviceState::Revoked | DeviceState::Rejected)
}

fn cache_with(backend: &Backend, row: &DeviceRow, terms: ActiveTerms) {
    let facts = row.facts.as_deref().and_then(super::presence::facts_from_json);
    // Grants and a ceiling that cannot be read grant nothing.
    let grants = serde_json::from_str(&row.grants).unwrap_or_default();
    let ceiling = row.ceiling.as_deref().map(|json| serde_json::from_str(json).unwrap_or_default());
    let known =
        DeviceSnapshot::new(row.id, row.name.clone(), row.state, facts, grants, ceiling, terms);
    backend.fleet.cache(DeviceSnapshot { key: row.public_key_fingerprint.clone(), ..known });
}

/// What holds on a device besides what it has of its own.
async fn terms(backend: &Backend, row: &DeviceRow) -> Result<ActiveTerms, StoreError> {
    let now = now_ms();
    let dangerous = backend.store.device_mode(row.id).await?.filter(|mode| mode.until > now);
    let policy = backend.policies.active().terms(&row.name);
    let standing = backend.store.standing_rules_of(row.id, now).await?;
    Ok(ActiveTerms { policy, dangerous, standing })
}

/// Takes a device's newest row into the fleet after a change, and lets its live session feel it:
/// what may not be connected is cut off, and what is lent otherwise is told. Where the record cannot be
/// read nothing is allowed on the device until [`reload_stale`] has read it.
///
/// # Errors
/// The record cannot be read.
pub async fn refresh(backend: &Backend, id: DeviceId) -> Result<DeviceRow, StoreError> {
    let _turn = backend.fleet.reload_lock(id).await;
    let taken = reload(backend, id).await;
    match &taken {
        Ok(_) => backend.fleet.mark_fresh(id),
        Err(error) => {
            tracing::error!(device = %id, %error, "what holds on a device could not be read, so nothing is allowed there");
            backend.fleet.mark_stale(id);
        }
    }
    taken
}

/// Reads what holds on the devices of which it could not be read before.
pub async fn reload_stale(backend: &Backend) -> usize {
    let stale = backend.fleet.behind();
    let count = stale.len();
    for id in stale {
        if let Err(error) = refresh(backend, id).await {
            // It stays behind, where nothing is allowed, and is tried again; the others do not wait for it.
            tracing::warn!(device = %id, %error, "what holds on a device could not be read");
        }
    }
    count
}

/// Takes in that a person has another role or is let in no longer, or again: the rules that they made
/// of answers hold only while they could make them.
pub async fn person_changed(backend: &Backend, user: &UserName) -> Result<(), StoreError> {
    for id in backend.store.devices_with_rules_of(user, now_ms()).await? {
        // What fails falls behind, and nothing is allowed there.
        refresh(backend, id).await.ok();
    }
    Ok(())
}

async fn reload(backend: &Backend, id: DeviceId) -> Result<DeviceRow, StoreError> {
    let row = backend.store.device_by_id(id).await?;
    // First of all, so that no failure later leaves a certificate good.
    if has_ended(row.state) {
        backend.fleet.revoke(backend.store.certificates_of(id).await?);
    }
    let terms = terms(backend, &row).await?;
    take_over(backend, &row, terms);
    Ok(row)
}

/// Has a row and what holds on its device count, and lets its live session feel it.
fn take_over(backend: &Backend, row: &DeviceRow, terms: ActiveTerms) {
    let id = row.id;
    let before = backend.fleet.known(id).map(|known| known.policy.version.clone());
    cache_with(backend, row, terms);
    match backend.fleet.known(id) {
        Some(known) if known.is_approved() => {
            let told = before.as_ref() == Some(&known.policy.version)
                || !backend.fleet.is_online(id)
                || backend.fleet.notify(id, known.policy_message());
            if !told {
                // It did not take the message; a new connection begins with the policy.
                backend.fleet.disconnect(id);
            }
        }
        Some(_) | None => backend.fleet.disconnect(id),
    }
    backend.bus.publish(Change::Device(id));
}

/// Makes a session the device's own, which was greeted with what was known then. Where the device
/// lost its rights meanwhile it ends at once, as it does where a newer one stands or the device has hung
/// up, and where its policy changed it is told.
pub async fn attach(
    backend: &Backend,
    greeted: &DeviceSnapshot,
    session: &Session,
    hung_up: &CancellationToken,
) {
    let _turn = backend.fleet.reload_lock(greeted.id).await;
    if hung_up.is_cancelled() {
        // Its older link may stand, and is not to end for this.
        return session.end();
    }
    if !backend.fleet.attach(greeted.id, session.clone()) {
        return;
    }
    match backend.fleet.known(greeted.id) {
        Some(known) if known.is_approved() => {
            if known.policy.version != greeted.policy.version
                && session.send(known.policy_message()).is_err()
            {
                backend.fleet.disconnect(greeted.id);
            }
        }
        Some(_) | None => backend.fleet.disconnect(greeted.id),
    }
    backend.bus.publish(Change::Device(greeted.id));
}

/// Takes in that rules which people made of answers ended after `since`, and gives until when that was
/// looked at.
///
/// # Errors
/// The record cannot be read.
pub async fn end_rules(backend: &Backend, since: i64, now_ms: i64) -> Result<usize, StoreError> {
    let devices = backend.store.devices_whose_rules_ended(since, now_ms).await?;
    let count = devices.len();
    for device in devices {
        tracing::info!(%device, "a rule that was made of an answer has ended");
        // What fails falls behind, and nothing is allowed there.
        refresh(backend, device).await.ok();
    }
    Ok(count)
}

/// Ends the modes whose time is over, and tells the devices.
///
/// # Errors
/// The record cannot be kept.
pub async fn end_modes(backend: &Backend, now_ms: i64) -> Result<usize, StoreError> {
    let devices = backend.store.end_modes_that_are_over(now_ms).await?;
    let count = devices.len();
    for device in devices {
        tracing::info!(%device, "a device is held strictly again");
        // What fails falls behind, and nothing is allowed there.
        refresh(backend, device).await.ok();
    }
    Ok(count)
}

/// Why a device's mode was not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ModeError {
    /// Nobody said why.
    #[error("say why, with --reason; it is shown to everybody while it lasts, and recorded")]
    NoReason,
    /// Too long.
    #[error("a device is held less strictly for 8 hours at most, and for a second at least")]
    TooLong,
    /// It takes no calls.
    #[error("the device is {} and takes no calls", .0.as_str())]
    Held(DeviceState),
    /// The record cannot be kept.
    #[error("the record could not be written; nothing was changed")]
    Store(#[from] StoreError),
}

/// Lifts a device's tool list and capabilities for a time, 15 minutes where none is said.
///
/// # Errors
/// See [`ModeError`].
pub async fn begin_dangerous(
    backend: &Arc<Backend>,
    row: &DeviceRow,
    seconds: u64,
    by: &Caller,
    reason: &str,
) -> Result<(), ModeError> {
    let reason: String =
        reason.chars().filter(|c| !orion_domain::is_hidden(*c)).take(500).collect();
    if reason.trim().is_empty() {
        return Err(ModeError::NoReason);
    }
    if row.state != DeviceState::Approved {
        return Err(ModeError::Held(row.state));
    }
    let seconds = if seconds == 0 { DANGEROUS_SECONDS } else { seconds };
    let milliseconds = i64::try_from(seconds).ok().filter(|s| *s <= LONGEST_SECONDS);
    let milliseconds = milliseconds.ok_or(ModeError::TooLong)? * 1000;
    let at = now_ms();
    let (device, by) = (row.id, by.user.clone());
    tracing::warn!(device = %row.name, %by, seconds, "a device's tool list and capabilities are lifted");
    let mode = ModeRow { device, until: at + milliseconds, by, at, reason };
    let shared = Arc::clone(backend);
    let work = async move {
        shared.store.begin_dangerous(mode).await?;
        refresh(&shared, device).await?;
        Ok(())
    };
    backend.run_to_completion(work).await
}

/// Holds a device strictly again. Where the record says so already, it is taken in once more.
///
/// # Errors
/// The record cannot be kept.
pub async fn end_dangerous(
    backend: &Arc<Backend>,
    row: &DeviceRow,
    by: &Caller,
    reason: &str,
) -> Result<(), StoreError> {
    let reason: String =
        reason.chars().filter(|c| !orion_domain::is_hidden(*c)).take(500).collect();
    let (shared, device, by) = (Arc::clone(backend), row.id, by.user.clone());
    let work = async move {
        shared.store.end_dangerous(device, &by, &reason, now_ms()).await?;
        refresh(&shared, device).await?;
        Ok(())
    };
    backend.run_to_completion(work).await
}
