//! The devices: which there are, what holds on each, who is connected, and which calls wait for an
//! answer. In memory, filled from the record; the record decides.

pub mod authority;
mod device_snapshot;
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
pub use device_snapshot::{ActiveTerms, DeviceSnapshot, PolicyTerms};
pub use outstanding_queries::OutstandingQueries;
pub use pending_calls::{CallEvent, PendingCall, PendingCalls};
pub use session::{
    ApprovalProof, CallProgress, DeviceResult, Dispatch, SendError, Session, SessionId, ToDevice,
};
pub use slots::{Place, SlotError};
use witness::Witnesses;

/// A call that waits for its device and is being sent: nobody else sends it meanwhile.
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

/// See the module.
#[derive(Debug, Default)]
pub struct Fleet {
    known: DashMap<DeviceId, Arc<DeviceSnapshot>>,
    names: DashMap<DeviceName, DeviceId>,
    sessions: DashMap<DeviceId, Session>,
    waiting: PendingCalls,
    deliveries: DashSet<CallId>,
    revoked: Arc<RwLock<HashSet<String>>>,
    /// Devices of which the newest record could not be read.
    behind: DashSet<DeviceId>,
    turns: DashMap<DeviceId, Arc<Mutex<()>>>,
    witnesses: Witnesses,
}

impl Fleet {
    /// What was last seen of each device's own chain.
    #[must_use]
    pub const fn witnesses(&self) -> &Witnesses {
        &self.witnesses
    }

    /// Takes a device into the fleet, or its changed facts, state or grants.
    pub fn cache(&self, known: DeviceSnapshot) {
        let (id, name, ended) = (known.id, known.name.clone(), known.has_ended());
        let before = self.known.insert(id, Arc::new(known));
        if !ended {
            self.names.insert(name, id);
            return;
        }
        // The name of a device whose identity has ended may be another's by now, also where this one was
        // taken in late and took it back.
        let others = before.and_then(|_| self.living(&name));
        let mut holder = self.names.entry(name).or_insert(id);
        if let Some(other) = others.filter(|_| *holder == id) {
            *holder = other;
        }
    }

    /// The device of this name whose identity has not ended.
    fn living(&self, name: &DeviceName) -> Option<DeviceId> {
        let living = self.known.iter().find(|it| it.name == *name && !it.has_ended());
        living.map(|it| it.id)
    }

    /// What the record says of a device by now could not be read: nothing is allowed there until it
    /// is, and its session ends.
    pub fn mark_stale(&self, id: DeviceId) {
        // Also where it is not known yet: once it can be read, it is.
        self.behind.insert(id);
        let Some(known) = self.known(id) else { return };
        self.cache(known.denying_all());
        self.disconnect(id);
    }

    /// What the record says of a device was taken in.
    pub fn mark_fresh(&self, id: DeviceId) {
        self.behind.remove(&id);
    }

    /// The device with this id, where what is known of it is what its record says.
    #[must_use]
    pub fn current(&self, id: DeviceId) -> Option<Arc<DeviceSnapshot>> {
        self.known(id).filter(|_| !self.behind.contains(&id))
    }

    /// The devices of which the newest record has yet to be read.
    #[must_use]
    pub fn behind(&self) -> Vec<DeviceId> {
        self.behind.iter().map(|id| *id).collect()
    }

    /// Changes of what is known of a device come one at a time: whoever reads the record and then takes
    /// it in holds this meanwhile, so that what was read first never replaces what was read last.
    pub async fn reload_lock(&self, id: DeviceId) -> OwnedMutexGuard<()> {
        let turn = Arc::clone(&self.turns.entry(id).or_default());
        turn.lock_owned().await
    }

    /// The device with this id.
    #[must_use]
    pub fn known(&self, id: DeviceId) -> Option<Arc<DeviceSnapshot>> {
        self.known.get(&id).map(|entry| Arc::clone(&entry))
    }

    /// The device that a caller means.
    ///
    /// # Errors
    /// `DEVICE_REQUIRED` where several could be meant, `DEVICE_NOT_FOUND` where none is.
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

    /// The device that had this name last, where its identity is over and no other has the name.
    #[must_use]
    pub fn ended(&self, wanted: &str) -> Option<Arc<DeviceSnapshot>> {
        let named = |known: &DeviceSnapshot| known.has_ended() && known.name.as_str() == wanted;
        let ended = self.known.iter().filter(|entry| named(entry));
        // Ids begin with their time.
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

    /// Every device.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<DeviceSnapshot>> {
        self.known.iter().map(|entry| Arc::clone(&entry)).collect()
    }

    /// Whether the device has a live session.
    #[must_use]
    pub fn is_online(&self, id: DeviceId) -> bool {
        self.session(id).is_some()
    }

    /// Takes over from any older session of the device, which is ended. Where a newer one stands already
    /// this one is ended, and `false`.
    pub fn attach(&self, id: DeviceId, session: Session) -> bool {
        match self.sessions.entry(id) {
            Entry::Occupied(standing) if standing.get().is_newer_than(&session) => {
                session.end();
                return false;
            }
            Entry::Occupied(mut standing) => standing.insert(session).end(),
            Entry::Vacant(free) => {
                free.insert(session);
            }
        }
        true
    }

    /// Forgets a session, unless a newer one has taken over.
    pub fn detach(&self, id: DeviceId, session: SessionId) -> bool {
        self.sessions.remove_if(&id, |_, current| current.id() == session).is_some()
    }

    /// Ends the device's live session at once.
    pub fn disconnect(&self, id: DeviceId) {
        if let Some((_, session)) = self.sessions.remove(&id) {
            session.end();
        }
    }

    /// The live session of a device.
    #[must_use]
    pub fn session(&self, id: DeviceId) -> Option<Session> {
        self.sessions.get(&id).filter(|entry| !entry.has_ended()).map(|entry| entry.clone())
    }

    /// Sends to a device without waiting; a device that does not keep up loses the message, and
    /// what hangs on it ends by its deadline.
    pub fn notify(&self, id: DeviceId, message: ToDevice) -> bool {
        self.session(id).is_some_and(|session| session.send(message).is_ok())
    }

    /// Calls that were sent and whose end is awaited.
    #[must_use]
    pub const fn waiting(&self) -> &PendingCalls {
        &self.waiting
    }

    /// The right to send a call that waits for its device; none where somebody sends it already.
    #[must_use]
    pub fn delivery(&self, call: CallId) -> Option<Delivery<'_>> {
        self.deliveries.insert(call).then_some(Delivery { fleet: self, call })
    }

    /// Serial numbers whose certificates are no longer good, shared with the TLS listener.
    #[must_use]
    pub fn is_revoked(&self) -> Arc<dyn Fn(&str) -> bool + Send + Sync> {
        let revoked = Arc::clone(&self.revoked);
        Arc::new(move |serial| {
            revoked.read().unwrap_or_else(PoisonError::into_inner).contains(serial)
        })
    }

    /// These certificates are good no longer.
    pub fn revoke(&self, serials: impl IntoIterator<Item = String>) {
        self.revoked.write().unwrap_or_else(PoisonError::into_inner).extend(serials);
    }

    /// How many devices have a live session, about.
    #[must_use]
    pub fn online(&self) -> usize {
        self.sessions.len()
    }

    /// Asks every device to go and come back later.
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
        // As after its quarantine, when it counts anew.
        third.end();
        assert!(fleet.attach(device, session(1)));
    }
}
