//! Decides who may call which operation, by one table of all operations. Every way in calls
//! [`AccessControl::admit`], and none of the types here is of gRPC. An operation without a row is refused, and refused
//! requests are audited.

mod credentials;
mod error;
mod identify;
mod rate_limits;
mod refusals;
mod request_limits;
mod source_limits;
mod table;

use std::sync::Arc;
use std::time::Duration;

use orion_domain::Role;

pub use credentials::{Admitted, AdmittedPerson, Credentials};
pub use error::AccessError;
pub use request_limits::RequestPermit;
pub use table::{Access, Operation, PerMinute, RequiredScope, TABLE};

use crate::clock::now_ms;
use crate::config::Calls;
use crate::listen::Source;
use crate::listen::connections::Owner;
use crate::people::{FirstAdmin, Identity, IdentityCache};
use crate::store::Store;
use crate::tasks::Tasks;
use rate_limits::{PersonRateLimits, STOPS};
use refusals::Refusals;
pub use refusals::Why;
use request_limits::RequestLimits;
use source_limits::SourceLimits;

/// How often due rows about refused requests are written.
const TICK: Duration = Duration::from_secs(1);
/// How many requests one person may have in flight beside calls: those that watch and wait.
const BESIDE_CALLS: usize = 1_000;
/// How many requests to stop calls one person may have in flight, whatever else they have.
const MAX_STOP_REQUESTS: usize = 4;
/// The operation in the audit log for one that does not exist.
const UNKNOWN: &str = "unknown";

/// Applies [`TABLE`] to every request, on every port.
pub struct AccessControl {
    store: Store,
    people: Arc<IdentityCache>,
    first_admin: Arc<FirstAdmin>,
    tasks: Tasks,
    sources: SourceLimits,
    rates: PersonRateLimits,
    requests: RequestLimits,
    stops: RequestLimits,
    refusals: Refusals,
}

/// A refused request. `user` is None until the person is known.
struct Refused {
    user: Option<String>,
    error: AccessError,
}

impl From<AccessError> for Refused {
    fn from(error: AccessError) -> Self {
        Self { user: None, error }
    }
}

impl AccessControl {
    /// Creates the control for all ports of a backend. Must be called within its runtime.
    #[must_use]
    pub fn start(
        limits: &Calls,
        store: Store,
        people: Arc<IdentityCache>,
        first_admin: Arc<FirstAdmin>,
        tasks: Tasks,
    ) -> Arc<Self> {
        let most = usize::try_from(limits.in_flight_per_person).unwrap_or(usize::MAX);
        let control = Arc::new(Self {
            sources: SourceLimits::of_table(),
            rates: PersonRateLimits::new(limits),
            requests: RequestLimits::new(most.saturating_add(BESIDE_CALLS)),
            stops: RequestLimits::new(MAX_STOP_REQUESTS),
            refusals: Refusals::default(),
            store,
            people,
            first_admin,
            tasks,
        });
        // Runs among the calls, which end before the database is closed.
        control.tasks.calls.spawn(Arc::clone(&control).keep_record());
        control
    }

    /// Admits or refuses a request, and audits a refusal. `operation` is None if the table has no row for it.
    ///
    /// # Errors
    /// [`AccessError`]: the request must not be processed.
    pub async fn admit(
        &self,
        operation: Option<&'static Operation>,
        credentials: Credentials<'_>,
    ) -> Result<Admitted, AccessError> {
        let Refused { user, error } = match self.check(operation, credentials).await {
            Ok(admitted) => {
                if let (Admitted::Person(person), Some(it)) = (&admitted, credentials.connection) {
                    it.belongs_to(&Owner::Person(person.identity.caller.user.clone()));
                }
                return Ok(admitted);
            }
            Err(refused) => refused,
        };
        let (path, why) = (operation.map_or(UNKNOWN, |it| it.path), error.why());
        if let Some(row) = self.refusals.note(path, why, credentials.source, user, now_ms()) {
            self.record(row).await;
        }
        if let Some(connection) = credentials.connection {
            connection.refused(why == Why::Rate);
        }
        Err(error)
    }

    /// Runs the handler of an admitted request. A handler that changes something runs to completion even if
    /// the client disconnects: the change and everything that follows from it happen together, or not at all.
    /// Returns None if the handler panicked.
    pub async fn run<T: Send + 'static>(
        &self,
        operation: Option<&'static Operation>,
        handler: impl Future<Output = T> + Send + 'static,
    ) -> Option<T> {
        if operation.is_some_and(table::ends_with_its_client) {
            return Some(handler.await);
        }
        self.tasks.calls.spawn(handler).await.ok()
    }

    async fn check(
        &self,
        operation: Option<&'static Operation>,
        credentials: Credentials<'_>,
    ) -> Result<Admitted, Refused> {
        let operation = operation.ok_or(AccessError::UnknownOperation)?;
        self.sources.check(operation, credentials.source)?;
        match operation.access {
            Access::Anyone => Ok(Admitted::Anyone),
            Access::Device => match credentials.source {
                Some(Source::Device(_)) => Ok(Admitted::Device),
                Some(Source::Address(_)) | None => Err(AccessError::NoCertificate.into()),
            },
            Access::Person(role, scope) => {
                // Subscribed before the token is looked up, so that no change is missed in between.
                let changes = self.people.subscribe();
                let identity = self.identify(credentials.authorization).await?;
                match self.permit(operation.path, (role, scope), &identity) {
                    Ok(permit) => {
                        let person = AdmittedPerson { identity, permit, changes };
                        Ok(Admitted::Person(Box::new(person)))
                    }
                    Err(error) => {
                        Err(Refused { user: Some(identity.caller.user.to_string()), error })
                    }
                }
            }
        }
    }

    /// Checks a person's role, token and limits.
    fn permit(
        &self,
        path: &str,
        (role, scope): (Role, RequiredScope),
        identity: &Identity,
    ) -> Result<RequestPermit, AccessError> {
        let caller = &identity.caller;
        if caller.role < role {
            return Err(AccessError::role(role, identity));
        }
        if !scope.is_met(&identity.kind, caller.role) {
            return Err(AccessError::scope(scope, identity));
        }
        self.rates.check(path, &caller.user).map_err(AccessError::limit)?;
        let requests = if STOPS.contains(&path) { &self.stops } else { &self.requests };
        requests.begin(caller).map_err(AccessError::limit)
    }

    async fn record(&self, row: refusals::Row) {
        if let Err(error) = self.store.audit_event("access.refused", row, now_ms()).await {
            tracing::error!(%error, "a refused request could not be recorded");
        }
    }

    /// Writes the due rows about refused requests, and notices secrets that were reset beside the backend.
    async fn keep_record(self: Arc<Self>) {
        let mut tick = tokio::time::interval(TICK);
        loop {
            let stops = tokio::select! {
                () = self.tasks.shutdown.cancelled() => true,
                _ = tick.tick() => false,
            };
            for row in self.refusals.due(now_ms(), stops) {
                self.record(row).await;
            }
            if stops {
                return;
            }
            if let Err(error) = self.first_admin.notice_reset(&self.store).await {
                tracing::error!(%error, "a reset of an admin could not be recorded");
            }
        }
    }
}
