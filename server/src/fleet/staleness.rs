//! Devices whose newest row could not be loaded: nothing is allowed there until a reload succeeds.

use std::sync::Arc;

use orion_domain::DeviceId;
use tokio::sync::OwnedMutexGuard;

use super::{DeviceSnapshot, Fleet};

impl Fleet {
    /// Marks a device whose newest row could not be loaded: it allows nothing until a reload succeeds, and
    /// its link ends.
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
}
