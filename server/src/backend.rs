//! The state that all handlers share. It has no behavior of its own.

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::bus::Bus;
use crate::config::Config;
use crate::fleet::{Authority, Fleet};
use crate::model::Model;
use crate::notary::Notary;
use crate::people::{FirstAdmin, IdentityCache};
use crate::pipeline::call_limits::CallLimits;
use crate::policy::Policies;
use crate::store::{Store, StoreError};

/// The state that all handlers share.
#[derive(Debug)]
pub struct Backend {
    /// The operator's configuration.
    pub config: Config,
    /// The database.
    pub store: Store,
    /// The devices.
    pub fleet: Fleet,
    /// The active policy.
    pub policies: Policies,
    /// Signs the audit log.
    pub notary: Notary,
    /// Wakes tasks that wait for a change.
    pub bus: Bus,
    /// The certificate authorities of devices and of this backend.
    pub authority: Authority,
    /// The models by name, the default first; never empty.
    pub models: Vec<(String, Model)>,
    /// The one-time secrets of the first admin, and of an admin who is locked out.
    pub first_admin: FirstAdmin,
    /// The users and sessions in memory.
    pub people: IdentityCache,
    /// The calls in flight of each person, and their limits.
    pub load: CallLimits,
    /// The addresses that enrolment tokens give to devices, `host:port`.
    pub device_addresses: Vec<String>,
    /// Calls in flight: they may end before anything is closed.
    pub calls: TaskTracker,
    /// Other tasks that must end before the process does.
    pub tasks: TaskTracker,
    /// Cancelled when the backend stops: no new work starts.
    pub shutdown: CancellationToken,
    /// Cancelled when the calls have had their time: streams end.
    pub closing: CancellationToken,
}

impl Backend {
    /// Runs work to its end, even if the requester disconnects: what was stored is then also loaded and
    /// published.
    ///
    /// # Errors
    /// The error of the work; [`StoreError::Unavailable`] if the work panics or is cancelled.
    pub async fn run_to_completion<T, E>(
        &self,
        work: impl Future<Output = Result<T, E>> + Send + 'static,
    ) -> Result<T, E>
    where
        T: Send + 'static,
        E: From<StoreError> + Send + 'static,
    {
        self.calls.spawn(work).await.unwrap_or_else(|_| Err(StoreError::Unavailable.into()))
    }
}
