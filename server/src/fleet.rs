//! The devices in memory: their snapshots, their links and the calls that wait for their results. The
//! database is authoritative; this cache is filled from it.

pub mod authority;
pub mod custom_tools;
mod delivery;
mod device_snapshot;
mod devices;
mod directory;
pub mod effective_policy;
pub mod enrollment;
mod find;
mod link;
mod messages;
mod outstanding_queries;
mod pending_calls;
pub mod presence;
mod slots;
mod staleness;
pub mod witness;

use std::collections::HashSet;
use std::sync::{Arc, PoisonError, RwLock};

use dashmap::{DashMap, DashSet};
use orion_domain::{CallId, DeviceId, DeviceName};
use tokio::sync::Mutex;

pub use authority::Authority;
pub use delivery::Delivery;
pub use device_snapshot::{ActiveTerms, DeviceSnapshot};
pub use devices::Devices;
pub use link::{DeviceLink, LinkId, SendError};
pub use messages::{
    ApprovalProof, CallProgress, DeviceResult, Dispatch, OutputPiece, OwnerPause, ToDevice,
};
pub use outstanding_queries::OutstandingQueries;
pub use pending_calls::{CallEvent, LiveOutput, PendingCall, PendingCalls, locked};
pub use slots::{Place, SlotError};
use witness::Witnesses;

/// All devices, their links and their pending calls.
#[derive(Debug, Default)]
pub struct Fleet {
    known: DashMap<DeviceId, Arc<DeviceSnapshot>>,
    names: DashMap<DeviceName, DeviceId>,
    links: DashMap<DeviceId, DeviceLink>,
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

    /// Forgets the former name of a device that was renamed. An ended device that had it is found by it again.
    pub fn renamed(&self, id: DeviceId, former: &DeviceName) {
        if self.names.remove_if(former, |_, holder| *holder == id).is_some() {
            let named = |it: &DeviceSnapshot| it.name == *former && it.id != id;
            let earlier = self.known.iter().filter(|it| named(it)).map(|it| it.id);
            if let Some(earlier) = earlier.max_by_key(|earlier| earlier.uuid()) {
                self.names.entry(former.clone()).or_insert(earlier);
            }
        }
    }

    /// Forgets a device that is listed no more.
    pub fn forget(&self, id: DeviceId) {
        if let Some((_, known)) = self.known.remove(&id) {
            self.names.remove_if(&known.name, |_, holder| *holder == id);
        }
    }

    /// Returns the device of this name whose identity has not ended.
    fn living(&self, name: &DeviceName) -> Option<DeviceId> {
        let living = self.known.iter().find(|it| it.name == *name && !it.has_ended());
        living.map(|it| it.id)
    }

    /// Returns the device with this id, stale or not.
    #[must_use]
    pub fn known(&self, id: DeviceId) -> Option<Arc<DeviceSnapshot>> {
        self.known.get(&id).map(|entry| Arc::clone(&entry))
    }

    /// Returns every device.
    #[must_use]
    pub fn all(&self) -> Vec<Arc<DeviceSnapshot>> {
        self.known.iter().map(|entry| Arc::clone(&entry)).collect()
    }

    /// Returns the calls that were sent and have no result yet.
    #[must_use]
    pub const fn waiting(&self) -> &PendingCalls {
        &self.waiting
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
}
