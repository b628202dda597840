//! Who may call what: one table of every RPC. A request whose row is missing is refused.

use std::net::{IpAddr, Ipv6Addr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::task::{Context, Poll};

use dashmap::DashMap;
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use orion_domain::{Caller, Digest, ErrorCode, Role, ToolError};
use orion_wire::status_from;
use tonic::Status;
use tonic::body::Body;
use tonic::codegen::http::{HeaderValue, Request, Response};
use tower::{Layer, Service};

use crate::backend::Backend;
use crate::clock::now_ms;
use crate::listen::Peer;

/// Who may call an RPC.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Anyone who can connect.
    Anyone,
    /// An enrolled device, by its certificate.
    Device,
    /// A person with at least this role.
    Person(Role),
}

/// How often an RPC may be called by one source, in calls a minute: by one device where it showed a
/// certificate, else from one address.
type PerMinute = Option<u32>;

/// Every RPC: who may call it, and how often from one source.
pub const TABLE: &[(&str, Access, PerMinute)] = &[
    ("/orion.v1.AgentService/Link", Access::Device, Some(120)),
    ("/orion.v1.AgentService/RenewCertificate", Access::Device, Some(30)),
    ("/orion.v1.EnrollmentService/Enroll", Access::Anyone, Some(120)),
    ("/orion.v1.EnrollmentService/GetEnrollment", Access::Anyone, Some(600)),
    ("/orion.v1.AuthService/CreateFirstAdmin", Access::Anyone, Some(30)),
    ("/orion.v1.AuthService/Login", Access::Anyone, Some(30)),
    ("/orion.v1.AuthService/WhoAmI", Access::Person(Role::Viewer), None),
    ("/orion.v1.ToolService/ListTools", Access::Person(Role::Viewer), None),
    ("/orion.v1.ToolService/CallTool", Access::Person(Role::Viewer), None),
    ("/orion.v1.ToolService/GetCall", Access::Person(Role::Viewer), None),
    ("/orion.v1.ToolService/CancelCall", Access::Person(Role::Viewer), None),
    ("/orion.v1.ChatService/SendMessage", Access::Person(Role::Viewer), None),
    ("/orion.v1.ChatService/ListModels", Access::Person(Role::Viewer), None),
    ("/orion.v1.DeviceService/ListDevices", Access::Person(Role::Viewer), None),
    ("/orion.v1.DeviceService/GetDevice", Access::Person(Role::Viewer), None),
    ("/orion.v1.DeviceService/InviteDevice", Access::Person(Role::Admin), None),
    ("/orion.v1.DeviceService/ApproveDevice", Access::Person(Role::Admin), None),
    ("/orion.v1.DeviceService/RejectDevice", Access::Person(Role::Admin), None),
    ("/orion.v1.DeviceService/RevokeDevice", Access::Person(Role::Admin), None),
    ("/orion.v1.DeviceService/QuarantineDevice", Access::Person(Role::Admin), None),
    ("/orion.v1.PolicyService/GetDevicePermissions", Access::Person(Role::Viewer), None),
    ("/orion.v1.PolicyService/SetDevicePermissions", Access::Person(Role::Admin), None),
    ("/orion.v1.ApprovalService/ListApprovals", Access::Person(Role::Operator), None),
    ("/orion.v1.ApprovalService/GetApproval", Access::Person(Role::Operator), None),
    ("/orion.v1.ApprovalService/DecideApproval", Access::Person(Role::Operator), None),
    ("/orion.v1.ApprovalService/WatchApprovals", Access::Person(Role::Operator), None),
    ("/orion.v1.AuditService/ListAudit", Access::Person(Role::Admin), None),
    ("/orion.v1.AuditService/ExportAudit", Access::Person(Role::Admin), None),
    ("/orion.v1.AuditService/VerifyAudit", Access::Person(Role::Admin), None),
    ("/grpc.health.v1.Health/Check", Access::Anyone, Some(6000)),
    ("/grpc.health.v1.Health/Watch", Access::Anyone, Some(600)),
    (
        "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo",
        Access::Person(Role::Viewer),
        None,
    ),
    (
        "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
        Access::Person(Role::Viewer),
        None,
    ),
];

/// How long a token that was looked up stays known without looking again, in milliseconds.
const REMEMBER_MS: i64 = 5_000;
/// How many tokens are remembered.
const REMEMBERED: usize = 10_000;

/// How many sources a limiter remembers before it lets go of the quiet ones.
const LIMITED_SOURCES: usize = 10_000;

/// Where a request comes from, as far as limits are concerned.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Source {
    Device(String),
    Address(IpAddr),
}

impl Source {
    fn of(peer: &Peer) -> Self {
        if let Some(device) = &peer.device {
            return Self::Device(device.device_id.clone());
        }
        Self::Address(match peer.address.ip().to_canonical() {
            // Whoever has one address of IPv6 has the 64 bits below it as well.
            IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> 64 << 64)),
            address @ IpAddr::V4(_) => address,
        })
    }
}

type Limiters = Vec<(&'static str, DefaultKeyedRateLimiter<Source>)>;

/// Applies [`TABLE`] to every request and tells the handler who calls.
#[derive(Clone)]
pub struct AccessLayer {
    gate: Arc<Gate>,
}

struct Gate {
    backend: Arc<Backend>,
    callers: DashMap<Digest, (Caller, i64)>,
    limiters: Limiters,
}

impl AccessLayer {
    /// For both listeners of a backend.
    #[must_use]
    pub fn new(backend: Arc<Backend>) -> Self {
        let limiters = TABLE
            .iter()
            .filter_map(|&(path, _, per_minute)| {
                let quota = Quota::per_minute(NonZeroU32::new(per_minute?)?);
                Some((path, RateLimiter::keyed(quota)))
            })
            .collect();
        Self { gate: Arc::new(Gate { backend, callers: DashMap::new(), limiters }) }
    }
}

impl<S> Layer<S> for AccessLayer {
    type Service = Guarded<S>;

    fn layer(&self, inner: S) -> Guarded<S> {
        Guarded { gate: Arc::clone(&self.gate), inner }
    }
}

/// A service behind the table.
#[derive(Clone)]
pub struct Guarded<S> {
    gate: Arc<Gate>,
    inner: S,
}

impl<S> Service<Request<Body>> for Guarded<S>
where
    S: Service<Request<Body>, Response = Response<Body>> + Clone + Send + 'static,
    S::Future: Send,
{
    type Response = Response<Body>;
    type Error = S::Error;
    type Future = std::pin::Pin<Box<dyn Future<Output = Result<Response<Body>, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request<Body>) -> Self::Future {
        let clone = self.inner.clone();
        let mut inner = std::mem::replace(&mut self.inner, clone);
        let gate = Arc::clone(&self.gate);
        Box::pin(async move {
            let header = request.headers().get("authorization").cloned();
            let peer = request.extensions().get::<Peer>().cloned();
            let path = request.uri().path().to_owned();
            match gate.admit(&path, peer, header).await {
                Ok(caller) => {
                    if let Some(caller) = caller {
                        request.extensions_mut().insert(caller);
                    }
                    inner.call(request).await
                }
                Err(status) => Ok(status.into_http()),
            }
        })
    }
}

impl Gate {
    /// The caller, where the row asks for a person.
    async fn admit(
        &self,
        path: &str,
        peer: Option<Peer>,
        header: Option<HeaderValue>,
    ) -> Result<Option<Caller>, Status> {
        let Some((_, access, _)) = TABLE.iter().find(|row| row.0 == path) else {
            return Err(Status::permission_denied(
                "This RPC is not in the access table, so nobody may call it.",
            ));
        };
        self.limit(path, peer.as_ref())?;
        match access {
            Access::Anyone => Ok(None),
            Access::Device => match peer {
                Some(Peer { device: Some(_), .. }) => Ok(None),
                Some(_) | None => Err(Status::unauthenticated(
                    "This device showed no certificate: it is not enrolled here. Run `orion-agent enroll TOKEN` with a token of `orion devices invite`.",
                )),
            },
            Access::Person(least) => {
                let caller = self.person(header).await?;
                if caller.role < *least {
                    return Err(status_from(&ToolError::new(
                        ErrorCode::PermissionDenied,
                        format!("This needs the role {least}; {} is {}.", caller.user, caller.role),
                    )));
                }
                Ok(Some(caller))
            }
        }
    }

    fn limit(&self, path: &str, peer: Option<&Peer>) -> Result<(), Status> {
        let limiter = self.limiters.iter().find(|(limited, _)| *limited == path);
        let Some((_, limiter)) = limiter else { return Ok(()) };
        let peer = peer.ok_or_else(|| Status::internal("Nobody knows where this comes from."))?;
        if limiter.len() > LIMITED_SOURCES {
            limiter.retain_recent();
        }
        limiter.check_key(&Source::of(peer)).map_err(|_| {
            status_from(&ToolError::new(
                ErrorCode::RateLimited,
                "Too many tries from this address; wait a minute and try again.",
            ))
        })
    }

    async fn person(&self, header: Option<HeaderValue>) -> Result<Caller, Status> {
        let refused = || {
            Status::unauthenticated(
                "Sign in first: `orion login`. (The token is missing, not known, or no longer good.)",
            )
        };
        let header = header.ok_or_else(refused)?;
        let token = header
            .to_str()
            .ok()
            .and_then(|text| text.strip_prefix("Bearer "))
            .filter(|token| token.len() <= 256)
            .ok_or_else(refused)?;
        let hash = Digest::of(token.as_bytes());
        let now = now_ms();
        if let Some(entry) = self.callers.get(&hash)
            && now - entry.1 < REMEMBER_MS
        {
            return Ok(entry.0.clone());
        }
        let found = self.backend.store.token(hash, now).await.map_err(super::status::store)?;
        let (user, role) = found.ok_or_else(refused)?;
        let caller = Caller { user, role, conversation: None };
        if self.callers.len() >= REMEMBERED {
            self.callers.clear();
        }
        self.callers.insert(hash, (caller.clone(), now));
        Ok(caller)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use prost::Message as _;

    use super::*;

    #[test]
    fn every_rpc_of_the_api_stands_in_the_table_once() {
        let descriptors =
            prost_types::FileDescriptorSet::decode(orion_wire::v1::DESCRIPTORS).unwrap();
        let mut rpcs = BTreeSet::new();
        for file in &descriptors.file {
            for service in &file.service {
                for method in &service.method {
                    rpcs.insert(format!(
                        "/{}.{}/{}",
                        file.package(),
                        service.name(),
                        method.name()
                    ));
                }
            }
        }
        let rows: Vec<_> = TABLE.iter().map(|row| row.0.to_owned()).collect();
        let ours: BTreeSet<_> =
            rows.iter().filter(|row| row.starts_with("/orion.")).cloned().collect();
        assert_eq!(ours, rpcs);
        assert_eq!(rows.len(), rows.iter().collect::<BTreeSet<_>>().len());
    }

    #[test]
    fn neighbours_in_ipv6_and_the_two_forms_of_ipv4_are_one_source() {
        let source = |address: &str| {
            Source::of(&Peer {
                address: (address.parse::<IpAddr>().unwrap(), 1).into(),
                device: None,
            })
        };
        assert_eq!(source("2001:db8::1"), source("2001:db8::ffff:1"));
        assert_ne!(source("2001:db8::1"), source("2001:db8:0:1::1"));
        assert_eq!(source("::ffff:192.0.2.1"), source("192.0.2.1"));
        assert_ne!(source("192.0.2.1"), source("192.0.2.2"));
    }

    #[test]
    fn whatever_anyone_may_call_is_limited() {
        for (path, access, per_minute) in TABLE {
            assert!(*access != Access::Anyone || per_minute.is_some(), "{path}");
        }
    }
}
