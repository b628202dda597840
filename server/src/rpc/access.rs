//! Decides who may call which RPC, by one table of all RPCs. A request without a row is rejected, and
//! rejected requests are audited.

mod rate_limits;
mod refusals;
mod request_limits;
mod revocation_guard;
mod table;

use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use orion_domain::{Caller, Digest, ErrorCode, Hint, Role, ToolError};
use orion_wire::status_from;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{HeaderValue, Request, Response};
use tower::{Layer, Service};

pub use table::{Access, PerMinute, RequiredScope, Row, TABLE};

use crate::backend::Backend;
use crate::clock::now_ms;
use crate::listen::Peer;
use crate::listen::Source;
use crate::listen::connections::{Admission, Owner};
use crate::people::Identity;
use rate_limits::PersonRateLimits;
use refusals::{Refusals, Why};
use request_limits::{BoundedBody, RequestLimits, RequestPermit};
use revocation_guard::{GuardedBody, RevocationGuard};

/// How many sources a limiter keeps before it drops the idle ones.
const LIMITED_SOURCES: usize = 10_000;
/// How often due rows about rejected requests are written.
const TICK: Duration = Duration::from_secs(1);
/// How many requests one person may have in flight beside calls: those that watch and wait.
const BESIDE_CALLS: usize = 1_000;
/// The RPC name in the audit log for an RPC that does not exist.
const UNKNOWN: &str = "unknown";

type Limiters = Vec<(&'static str, DefaultKeyedRateLimiter<Source>)>;

/// Applies [`TABLE`] to every request and passes the caller to the handler.
#[derive(Clone)]
pub struct AccessLayer {
    gate: Arc<AccessService>,
}

struct AccessService {
    backend: Arc<Backend>,
    limiters: Limiters,
    pace: PersonRateLimits,
    refusals: Refusals,
    shares: RequestLimits,
}

/// Who was admitted.
enum Admitted {
    /// Anyone.
    Anyone,
    /// A device.
    Device,
    /// A person, with a permit from their request limit.
    Person(Identity, RequestPermit),
}

/// Why a request is rejected, and the status for its sender.
struct Refused {
    why: Why,
    user: Option<String>,
    status: Status,
}

impl Refused {
    fn new(why: Why, status: Status) -> Self {
        Self { why, user: None, status }
    }
}

impl AccessLayer {
    /// Creates the layer for both listeners of a backend. Must be called within its runtime.
    #[must_use]
    pub fn new(backend: Arc<Backend>) -> Self {
        let limiters = TABLE
            .iter()
            .filter_map(|&(path, _, per_minute)| {
                let quota = Quota::per_minute(NonZeroU32::new(per_minute?)?);
                Some((path, RateLimiter::keyed(quota)))
            })
            .collect();
        let calls = &backend.config.calls;
        let most = usize::try_from(calls.in_flight_per_person).unwrap_or(usize::MAX);
        let gate = Arc::new(AccessService {
            pace: PersonRateLimits::new(calls),
            shares: RequestLimits::new(most.saturating_add(BESIDE_CALLS)),
            backend,
            limiters,
            refusals: Refusals::default(),
        });
        // Runs among the calls, which end before the database is closed.
        gate.backend.tasks.calls.spawn(Arc::clone(&gate).keep_record());
        Self { gate }
    }
}

impl<S> Layer<S> for AccessLayer {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { gate: Arc::clone(&self.gate), inner }
    }
}

/// A service behind the access table.
#[derive(Clone)]
pub struct Guarded<S> {
    gate: Arc<AccessService>,
    inner: S,
}

impl<S> Service<Request<Body>> for Guarded<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Send + 'static,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let gate = Arc::clone(&self.gate);
        Box::pin(async move {
            // Subscribed before the token is looked up, so that no change is missed in between.
            let changes = gate.backend.people.subscribe();
            let row = TABLE.iter().find(|row| row.0 == request.uri().path());
            let source = request.extensions().get::<Peer>().map(Source::of);
            let header = request.headers().get("authorization").cloned();
            let admission = request.extensions().get::<Arc<Admission>>().cloned();
            let is_closed = admission.as_ref().is_some_and(|it| it.state().closed_for().is_some());
            if is_closed {
                // The connection is closed, so nobody reads this response.
                return Ok(Status::unavailable("The connection was closed.").into_http());
            }
            match gate.admit(row, source.as_ref(), header).await {
                Err((why, status)) => {
                    if let Some(admission) = admission {
                        admission.refused(why == Why::Rate);
                    }
                    Ok(status.into_http())
                }
                Ok(Admitted::Device) => gate.handle(row, inner.call(request)).await,
                Ok(Admitted::Anyone) => {
                    let request = request.map(|body| BoundedBody::body(body, None));
                    gate.handle(row, inner.call(request)).await
                }
                Ok(Admitted::Person(identity, share)) => {
                    if let Some(admission) = admission {
                        admission.belongs_to(&Owner::Person(identity.caller.user.clone()));
                    }
                    let share = Arc::new(Mutex::new(share));
                    let kept = Some(Arc::clone(&share));
                    let mut request = request.map(|body| BoundedBody::body(body, kept));
                    // These RPCs answer at once, and some of them end the session that calls.
                    let answers_at_once =
                        request.uri().path().starts_with("/orion.v1.AuthService/");
                    request.extensions_mut().insert(identity.caller.clone());
                    request.extensions_mut().insert(identity.clone());
                    let response = gate.handle(row, inner.call(request)).await?;
                    request_limits::answered(&share);
                    if answers_at_once {
                        return Ok(response);
                    }
                    let guard = RevocationGuard::new(identity, changes, now_ms());
                    Ok(response.map(|body| GuardedBody::body(body, guard, share)))
                }
            }
        })
    }
}

impl AccessService {
    /// Runs a handler. A handler that changes something runs to completion even if the client disconnects.
    /// The change and everything that follows from it happen together, or not at all.
    async fn handle<E: Send + 'static>(
        &self,
        row: Option<&Row>,
        work: impl Future<Output = Result<Response<Body>, E>> + Send + 'static,
    ) -> Result<Response<Body>, E> {
        if row.is_some_and(table::ends_with_its_client) {
            return work.await;
        }
        let done = self.backend.tasks.calls.spawn(work).await;
        done.unwrap_or_else(|_| Ok(super::status::broken_off().into_http()))
    }

    /// Admits or rejects a request by its row, and audits a rejection.
    async fn admit(
        &self,
        row: Option<&Row>,
        source: Option<&Source>,
        header: Option<HeaderValue>,
    ) -> Result<Admitted, (Why, Status)> {
        let refused = match row {
            None => Refused::new(
                Why::UnknownRpc,
                Status::permission_denied(
                    "This RPC is not in the access table, so nobody may call it.",
                ),
            ),
            Some((path, access, _)) => match self.check_access(path, *access, source, header).await
            {
                Ok(admitted) => return Ok(admitted),
                Err(refused) => refused,
            },
        };
        let Refused { why, user, status } = refused;
        let rpc = row.map_or(UNKNOWN, |row| row.0);
        if let Some(row) = self.refusals.note(rpc, why, source, user, now_ms()) {
            self.record(row).await;
        }
        Err((why, status))
    }

    async fn check_access(
        &self,
        path: &'static str,
        access: Access,
        source: Option<&Source>,
        header: Option<HeaderValue>,
    ) -> Result<Admitted, Refused> {
        self.limit(path, source)?;
        match access {
            Access::Anyone => Ok(Admitted::Anyone),
            Access::Device => match source {
                Some(Source::Device(_)) => Ok(Admitted::Device),
                Some(Source::Address(_)) | None => Err(Refused::new(
                    Why::NoCertificate,
                    Status::unauthenticated(
                        "This device showed no certificate: it is not enrolled here. Run `orion-agent enroll TOKEN` with a token of `orion devices invite`.",
                    ),
                )),
            },
            Access::Person(least, need) => {
                let identity = self.person(header).await?;
                let refused = |(why, status)| {
                    let user = Some(identity.caller.user.to_string());
                    Err(Refused { why, user, status })
                };
                if identity.caller.role < least {
                    return refused(too_little(least, &identity));
                }
                if !need.is_met(&identity.kind, identity.caller.role) {
                    return refused(out_of_scope(need, &identity));
                }
                if let Err(error) = self.pace.check(path, &identity.caller.user) {
                    return refused((Why::Rate, status_from(&error)));
                }
                match self.shares.begin(&identity.caller) {
                    Ok(share) => Ok(Admitted::Person(identity, share)),
                    Err(status) => refused((Why::Rate, status)),
                }
            }
        }
    }

    fn limit(&self, path: &str, source: Option<&Source>) -> Result<(), Refused> {
        let limiter = self.limiters.iter().find(|(limited, _)| *limited == path);
        let Some((_, limiter)) = limiter else { return Ok(()) };
        let unknown = || Status::internal("Nobody knows where this comes from.");
        let source = source.ok_or_else(|| Refused::new(Why::Rate, unknown()))?;
        if limiter.len() > LIMITED_SOURCES {
            limiter.retain_recent();
        }
        limiter.check_key(source).map_err(|_| {
            let error =
                ToolError::new(ErrorCode::RateLimited, "Too many requests from this address.")
                    .hint("try again in a minute");
            Refused::new(Why::Rate, status_from(&error))
        })
    }

    async fn person(&self, header: Option<HeaderValue>) -> Result<Identity, Refused> {
        let refused = || {
            Refused::new(
                Why::NotSignedIn,
                Status::unauthenticated(
                    "Nobody is signed in: the token is missing, unknown or no longer valid.",
                ),
            )
        };
        let header = header.ok_or_else(refused)?;
        let token = header
            .to_str()
            .ok()
            .and_then(|text| text.strip_prefix("Bearer "))
            .filter(|token| token.len() <= 256)
            .ok_or_else(refused)?;
        let (token, now) = (Digest::of(token.as_bytes()), now_ms());
        let Backend { people, store, .. } = &*self.backend;
        if let Some(identity) = people.recall(token, now) {
            return Ok(identity);
        }
        let epoch = people.epoch();
        let found = store
            .token(token, now)
            .await
            .map_err(|error| Refused::new(Why::NotSignedIn, super::status::store(error)))?;
        let (row, role) = found.ok_or_else(refused)?;
        if row.use_is_old(now) {
            let store = store.clone();
            self.backend.tasks.background.spawn(async move {
                if let Err(error) = store.token_used(token, now).await {
                    tracing::warn!(%error, "the use of a token could not be recorded");
                }
            });
        }
        let caller = Caller { user: row.user, role, conversation: None };
        let identity = Identity { caller, token, kind: row.kind, expires_at: row.expires_at };
        people.remember(identity.clone(), epoch, now);
        Ok(identity)
    }

    async fn record(&self, row: refusals::Row) {
        if let Err(error) = self.backend.store.audit_event("access.refused", row, now_ms()).await {
            tracing::error!(%error, "a refused request could not be recorded");
        }
    }

    /// Writes the due rows about rejected requests, and notices secrets that were reset beside the backend.
    async fn keep_record(self: Arc<Self>) {
        let Backend { tasks, first_admin, store, .. } = &*self.backend;
        let mut tick = tokio::time::interval(TICK);
        loop {
            let stops = tokio::select! {
                () = tasks.shutdown.cancelled() => true,
                _ = tick.tick() => false,
            };
            for row in self.refusals.due(now_ms(), stops) {
                self.record(row).await;
            }
            if stops {
                return;
            }
            if let Err(error) = first_admin.notice_reset(store).await {
                tracing::error!(%error, "a reset of an admin could not be recorded");
            }
        }
    }
}

fn too_little(least: Role, identity: &Identity) -> (Why, Status) {
    let Caller { user, role, .. } = &identity.caller;
    let error = ToolError::new(
        ErrorCode::PermissionDenied,
        format!("This needs the role {least}, and {user} is {role}."),
    );
    let error = error.with("layer", "access").with("needed_role", least.as_str());
    (Why::Role, status_from(&error))
}

fn out_of_scope(need: RequiredScope, identity: &Identity) -> (Why, Status) {
    let (message, hint) = match need {
        RequiredScope::Session => (
            "An API token cannot do this: it needs the person's session.".to_owned(),
            Hint::run("sign in", "orion login"),
        ),
        RequiredScope::Any | RequiredScope::OneOf(_) => (
            format!(
                "This needs a token with the scope {}, and this one has {}.",
                need.description(),
                identity.kind
            ),
            Hint::run("make another", "orion tokens create"),
        ),
    };
    let error = ToolError::new(ErrorCode::PermissionDenied, message);
    let error = error.with("layer", "access").with("needed_scope", need.description()).hint(hint);
    (Why::Scope, status_from(&error))
}
