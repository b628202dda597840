//! The devices as a whole: their rows, their snapshots in memory, and what is sent to those that are connected.

use std::sync::Arc;

use super::Fleet;
use crate::active_policy::Policies;
use crate::bus::Bus;
use crate::store::Store;
use crate::tasks::Tasks;

/// Keeps the snapshots of devices equal to the store and to the active policy, and connected devices informed.
/// A clone is a handle to the same devices. Its methods are in the files beside this one.
#[derive(Debug, Clone)]
pub struct Devices {
    /// The database.
    pub store: Store,
    /// The snapshots and links in memory.
    pub fleet: Arc<Fleet>,
    /// The active policy file.
    pub policies: Arc<Policies>,
    /// Wakes tasks that wait for a change.
    pub bus: Bus,
    /// Work that continues if its requester disconnects.
    pub tasks: Tasks,
}
