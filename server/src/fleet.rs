//! The devices in memory: their snapshots, their sessions and the calls that wait for their results. The
//! database is authoritative; this cache is filled from it.

pub mod authority;
mod device_snapshot;
mod devices;
pub mod effective_policy;
pub mod enrollment;
mod outstanding_queries;
mod pending_calls;
pub mod presence;
mod session;
mod slots;
pub mod witness;

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use dashmap::{DashMap, DashSet, Entry};
use orion_domain::{CallId, DeviceId, DeviceName, ErrorCode, ToolError};
use tokio::sync::{Mutex, OwnedMutexGuard};
use uuid::Uuid;

pub use authority::Authority;
pub use device_snapshot::{ActiveTerms, DeviceSnapshot};
pub use devices::Devices;
pub use outstanding_queries::OutstandingQueries;
pub use pending_calls::{CallEvent, PendingCall, PendingCalls};
pub use session::{
    ApprovalProof, CallProgress, DeviceResult, Dispatch, SendError, Session, SessionId, ToDevice,
};
pub use slots::{Place, SlotError};
use witness::Witnesses;

/// The right to send one call that waits for its device. Nobody else sends the call until this is dropped.
#[derive(Debug)]
pub struct Delivery<'a> {
    fleet: &'a Fleet,
    call: CallId,
}

impl Drop for Delivery<'_> {
    fn drop(&mut self) {
        self.fleet.deliveries.remove(&self.call);
    }
}

/// All devices, their sessions and their pending calls.
#[derive(Debug, Default)]
pub struct Fleet {
    known: DashMap<DeviceId, Arc<DeviceSnapshot>>,
    names: DashMap<DeviceName, DeviceId>,
    sessions: DashMap<DeviceId, Session>,
    waiting: PendingCalls,
    deliveries: DashSet<CallId>,
    revoked: Arc<RwLock<HashSet<String>>>,
    /// Devices whose newest row could not be loaded.
    behind: DashSet<DeviceId>,
    reload_locks: DashMap<DeviceId, Arc<Mutex<()>>>,
    witnesses: Witnesses,
}

impl Fleet {
    /// Returns what was last seen of each device's own chain.
    #[must_use]
    pub const fn witnesses(&self) -> &Witnesses {
        &self.witnesses
    }

    /// Caches a new or changed device.
    pub fn cache(&self, known: DeviceSnapshot) {
        let (id, name, ended) = (known.id, known.name.clone(), known.has_ended());
        let before = self.known.insert(id, Arc::new(known));
        if !ended {
            self.names.insert(name, id);
            return;
        }
        // Once a device's identity has ended, another device may have its name, even where a late reload gave
        // the name back to this one.
        let others = before.and_then(|_| self.living(&name));
        let mut holder = self.names.entry(name).or_insert(id);
        if let Some(other) = others.filter(|_| *holder == id) {
            *holder = other;
        }
    }

    /// Returns the device of this name whose identity has not ended.
    fn living(&self, name: &DeviceName) -> Option<DeviceId> {
        let living = self.known.iter().find(|it| it.name == *name && !it.has_ended());
        living.map(|it| it.id)
    }

    /// Marks a device whose newest row could not be loaded: it allows nothing until a reload succeeds, and
    /// its session ends.
    pub fn mark_stale(&self, id: DeviceId) {
        // A device that is not cached yet is marked too: a later reload caches it.
        self.behind.insert(id);
        let Some(known) = self.known(id) else { return };
        self.cache(known.denying_all());
        self.disconnect(id);
    }

    /// Marks a device whose newest row was loaded.
    pub fn mark_fresh(&self, id: DeviceId) {
        self.behind.remove(&id);
    }

    /// Returns the device with this id, if its snapshot is not stale.
    #[must_use]
    pub fn current(&self, id: DeviceId) -> Option<Arc<DeviceSnapshot>> {
        self.known(id).filter(|_| !self.behind.contains(&id))
    }

    /// Returns the devices whose snapshots are stale.
    #[must_use]
    pub fn behind(&self) -> Vec<DeviceId> {
        self.behind.iter().map(|id| *id).collect()
    }

    /// Locks the reload of one device. Hold the lock while you read the row and cache it, so that an older
    /// read never replaces a newer one.
    pub async fn reload_lock(&self, id: DeviceId) -> OwnedMutexGuard<()> {
        let lock = Arc::clone(&self.reload_locks.entry(id).or_default());
        lock.lock_owned().await
    }

    /// Returns the device with this id, stale or not.
    #[must_use]
    pub fn known(&self, id: DeviceId) -> Option<Arc<DeviceSnapshot>> {
        self.known.get(&id).map(|entry| Arc::clone(&entry))
    }

    /// Returns the device that a caller names by id or name.
    ///
    /// # Errors
    /// `DEVICE_REQUIRED` where several devices could be meant, `DEVICE_NOT_FOUND` where none is.
    pub fn find(&self, wanted: Option<&str>) -> Result<Arc<DeviceSnapshot>, ToolError> {
        let Some(wanted) = wanted else { return self.only() };
        let by_name =
            || wanted.parse().ok().and_then(|name: DeviceName| self.names.get(&name).map(|id| *id));
        let by_id = || wanted.parse::<Uuid>().ok().map(DeviceId::new);
        by_id().or_else(by_name).and_then(|id| self.known(id)).ok_or_else(|| {
            let shown: String = wanted.chars().take(64).collect();
            let mut near: Vec<_> = self
                .names
                .iter()
                .map(|entry| {
                    (strsim::jaro_winkler(&shown, entry.key().as_str()), entry.key().to_string())
                })
                .filter(|(score, _)| *score > 0.75)
                .collect();
            near.sort_by(|a, b| b.0.total_cmp(&a.0));
            ToolError::new(
                ErrorCode::DeviceNotFound,
                format!(
                    "No device is called `{shown}`. `orion devices list` shows those there are."
                ),
            )
            .suggesting(near.into_iter().take(3).map(|(_, name)| name).collect())
        })
    }

    /// Returns the last device of this name whose identity has ended.
    #[must_use]
    pub fn ended(&self, wanted: &str) -> Option<Arc<DeviceSnapshot>> {
        let named = |known: &DeviceSnapshot| known.has_ended() && known.name.as_str() == wanted;
        let ended = self.known.iter().filter(|entry| named(entry));
        // Ids sort by their creation time.
        ended.max_by_key(|entry| entry.id.uuid()).map(|entry| Arc::clone(&entry))
    }

    fn only(&self) -> Result<Arc<DeviceSnapshot>, ToolError> {
        let usable: Vec<_> = self
            .known
            .iter()
            .filter(|entry| entry.is_approved())
            .map(|entry| Arc::clone(&entry))
            .collect();
        match &usable[..] {
            [one] => Ok(Arc::clone(one)),
            [] => Err(ToolError::new(
                ErrorCode::DeviceNotFound,
                "No device is enrolled. `orion devices invite` makes a token for one.",
            )),
            several => {
                let names = several.iter().map(|known| known.name.to_string()).collect::<Vec<_>>();
                Err(ToolError::new(
                    ErrorCode::DeviceRequired,
                    format!("There are {} devices: name the one that is meant.", several.len()),
                )
                .suggesting(names.into_iter().take(10).collect()))
            }
        }
    }

    /// Returns every device.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<DeviceSnapshot>> {
        self.known.iter().map(|entry| Arc::clone(&entry)).collect()
    }

    /// Returns whether the device has a live session.
    #[must_use]
    pub fn is_online(&self, id: DeviceId) -> bool {
        self.session(id).is_some()
    }

    /// Makes this the device's session, and ends an older one. Where a newer session is live, ends this one
    /// and returns `false`.
    pub fn attach(&self, id: DeviceId, session: Session) -> bool {
        match self.sessions.entry(id) {
            Entry::Occupied(current) if current.get().is_newer_than(&session) => {
                session.end();
                return false;
            }
            Entry::Occupied(mut current) => current.insert(session).end(),
            Entry::Vacant(free) => {
                free.insert(session);
            }
        }
        true
    }

    /// Removes a session, unless a newer one has replaced it.
    pub fn detach(&self, id: DeviceId, session: SessionId) -> bool {
        self.sessions.remove_if(&id, |_, current| current.id() == session).is_some()
    }

    /// Ends the device's live session immediately.
    pub fn disconnect(&self, id: DeviceId) {
        if let Some((_, session)) = self.sessions.remove(&id) {
            session.end();
        }
    }

    /// Returns the live session of a device.
    #[must_use]
    pub fn session(&self, id: DeviceId) -> Option<Session> {
        self.sessions.get(&id).filter(|entry| !entry.has_ended()).map(|entry| entry.clone())
    }

    /// Queues a message for a device without waiting. A device with a full queue loses the message; whatever
    /// depends on it ends at its deadline. Returns whether the message was queued.
    pub fn notify(&self, id: DeviceId, message: ToDevice) -> bool {
        self.session(id).is_some_and(|session| session.send(message).is_ok())
    }

    /// Returns the calls that were sent and have no result yet.
    #[must_use]
    pub const fn waiting(&self) -> &PendingCalls {
        &self.waiting
    }

    /// Returns the right to send a call that waits for its device. `None` where another task is sending it.
    #[must_use]
    pub fn delivery(&self, call: CallId) -> Option<Delivery<'_>> {
        self.deliveries.insert(call).then_some(Delivery { fleet: self, call })
    }

    /// Returns a predicate for the TLS listener: whether the certificate with a serial number is revoked.
    #[must_use]
    pub fn is_revoked(&self) -> Arc<dyn Fn(&str) -> bool + Send + Sync> {
        let revoked = Arc::clone(&self.revoked);
        Arc::new(move |serial| {
            revoked.read().unwrap_or_else(PoisonError::into_inner).contains(serial)
        })
    }

    /// Revokes the certificates with these serial numbers.
    pub fn revoke(&self, serials: impl IntoIterator<Item = String>) {
        self.revoked.write().unwrap_or_else(PoisonError::into_inner).extend(serials);
    }

    /// Returns how many devices have a session, roughly.
    #[must_use]
    pub fn online(&self) -> usize {
        self.sessions.len()
    }

    /// Asks every device to disconnect and to reconnect after this time.
    pub fn drain(&self, reconnect: Duration) {
        for session in &self.sessions {
            let _ = session.send(ToDevice::Drain { reconnect });
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio_util::sync::CancellationToken;

    use super::*;

    #[test]
    fn a_newer_connection_takes_over_and_an_older_one_that_comes_late_does_not() {
        let (fleet, device) = (Fleet::default(), DeviceId::new(Uuid::from_u128(1)));
        let session = |generation| Session::new(generation, 1, CancellationToken::new()).0;
        let (first, second) = (session(1), session(2));
        assert!(fleet.attach(device, second.clone()));
        assert!(!fleet.attach(device, first.clone()));
        assert_eq!((first.has_ended(), second.has_ended()), (true, false));
        assert_eq!(fleet.session(device).map(|it| it.id()), Some(second.id()));
        let third = session(3);
        assert!(fleet.attach(device, third.clone()) && second.has_ended());
        // As after a quarantine, when the device's counter starts again.
        third.end();
        assert!(fleet.attach(device, session(1)));
    }
}
