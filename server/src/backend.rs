//! A backend, put together. It has no behavior of its own: each room has what it uses.

use std::sync::Arc;

use crate::bus::Bus;
use crate::chat::Chat;
use crate::config::Config;
use crate::downloads::Downloads;
use crate::fleet::enrollment::Enrollment;
use crate::fleet::{Devices, Fleet};
use crate::notary::Notary;
use crate::passkeys::Passkeys;
use crate::people::{FirstAdmin, IdentityCache};
use crate::pipeline::Pipeline;
use crate::store::Store;
use crate::tasks::Tasks;

/// A backend, as the handlers of requests see it.
#[derive(Debug)]
pub struct Backend {
    /// The operator's configuration.
    pub config: Arc<Config>,
    /// The database.
    pub store: Store,
    /// The snapshots and sessions of the devices.
    pub fleet: Arc<Fleet>,
    /// The devices as a whole, with the active policy.
    pub devices: Devices,
    /// What devices download.
    pub downloads: Arc<Downloads>,
    /// Enrolls devices and issues their certificates.
    pub enrollment: Enrollment,
    /// Runs calls.
    pub pipeline: Arc<Pipeline>,
    /// Signs the audit log.
    pub notary: Arc<Notary>,
    /// Wakes tasks that wait for a change.
    pub bus: Bus,
    /// Runs chats.
    pub chat: Arc<Chat>,
    /// The one-time secrets of the first admin, and of an admin who is locked out.
    pub first_admin: Arc<FirstAdmin>,
    /// The users and sessions in memory.
    pub people: Arc<IdentityCache>,
    /// The page's address for passkeys, and the open challenges.
    pub passkeys: Arc<Passkeys>,
    /// The tasks, and the two stages in which they end.
    pub tasks: Tasks,
}
