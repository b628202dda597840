//! Everything that handlers share.

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

/// See the module.
#[derive(Debug)]
pub struct Backend {
    /// What the operator set.
    pub config: Config,
    /// The record.
    pub store: Store,
    /// The devices.
    pub fleet: Fleet,
    /// The policy file that holds.
    pub policies: Policies,
    /// Signs the audit.
    pub notary: Notary,
    /// What wakes those who wait.
    pub bus: Bus,
    /// Who vouches for devices, and for this backend.
    pub authority: Authority,
    /// The models by name, the default first; never empty.
    pub models: Vec<(String, Model)>,
    /// The one-time secrets, for the first admin and for one who is locked out.
    pub first_admin: FirstAdmin,
    /// Who is signed in at the moment.
    pub people: IdentityCache,
    /// How much each person has under way.
    pub load: CallLimits,
    /// What enrolment tokens tell devices to dial.
    pub device_addresses: Vec<String>,
    /// Calls under way: they may end before anything is closed.
    pub calls: TaskTracker,
    /// Other work that must end before the process does.
    pub tasks: TaskTracker,
    /// The backend is to stop: nothing new is begun.
    pub shutdown: CancellationToken,
    /// Calls had their time: streams end.
    pub closing: CancellationToken,
}

impl Backend {
    /// Does a piece of work to its end, also where whoever asked for it goes away: what was recorded is
    /// then taken in and told as well.
    ///
    /// # Errors
    /// The work's own; [`StoreError::Unavailable`] where it broke off.
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
