//! A device's connection, with the identity that TLS checked.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orion_mtls::{DeviceIdentity, Fingerprint};
use orion_wire::CERTIFICATE_EXPIRED_METADATA;
use tonic::metadata::MetadataValue;
use tonic::{Request, Status};

use crate::backend::Backend;
use crate::clock::now_ms;
use crate::fleet::enrollment::EnrollError;
use crate::listen::Peer;
use crate::rpc::status;

/// Resolves to the reason once the connection is no longer valid.
pub(in crate::rpc) type ConnectionEnd = Pin<Box<dyn Future<Output = &'static str> + Send>>;

/// A device's connection.
pub(in crate::rpc) struct Connection {
    /// When the connection began.
    pub(in crate::rpc) since: Instant,
    /// Serial number of the device's certificate, in hexadecimal.
    pub(in crate::rpc) serial: String,
    /// Fingerprint of the authority that signed the certificate. None in a simulation.
    pub(in crate::rpc) issuer: Option<Fingerprint>,
    /// Resolves when the certificate is no longer valid.
    pub(in crate::rpc) over: ConnectionEnd,
}

/// Waits until a certificate that the handshake checked is no longer valid.
pub(super) fn over(backend: &Arc<Backend>, identity: &DeviceIdentity) -> ConnectionEnd {
    let good_for = identity.not_after_ms.saturating_sub(now_ms());
    let good_for = Duration::from_millis(u64::try_from(good_for).unwrap_or_default());
    let (backend, issuer) = (Arc::clone(backend), identity.issuer);
    Box::pin(async move {
        tokio::select! {
            () = tokio::time::sleep(good_for) => "its certificate has ended",
            () = backend.enrollment.authority.disconnected(issuer) => "the authority of its certificate was retired",
        }
    })
}

/// Returns when the connection of a request began.
pub(super) fn since<T>(request: &Request<T>) -> Instant {
    request.extensions().get::<Peer>().map_or_else(Instant::now, |peer| peer.since)
}

/// Returns the device that the handshake identified, if its certificate is still valid: a connection may
/// outlive the certificate, and begin after its end to renew it.
pub(in crate::rpc) fn good<T>(
    backend: &Backend,
    request: &Request<T>,
) -> Result<Arc<DeviceIdentity>, Status> {
    let (identity, has_expired) = shown(backend, request)?;
    if has_expired { Err(expired()) } else { Ok(identity) }
}

/// Returns the device that the handshake identified, and whether its certificate has expired.
pub(super) fn shown<T>(
    backend: &Backend,
    request: &Request<T>,
) -> Result<(Arc<DeviceIdentity>, bool), Status> {
    let device = request.extensions().get::<Peer>().and_then(|peer| peer.device.clone());
    let Some(identity) = device else {
        return Err(Status::unauthenticated("This device showed no certificate."));
    };
    if !backend.enrollment.authority.set().holds(&identity.issuer) {
        return Err(status::enroll(EnrollError::Retired));
    }
    let has_expired = identity.not_after_ms <= now_ms();
    Ok((identity, has_expired))
}

/// The answer to a device whose certificate has expired.
pub(super) fn expired() -> Status {
    let mut status = Status::unauthenticated(
        "This device's certificate has expired. Agents renew it by themselves when they connect again; an older one is enrolled again with a token of `orion devices invite`.",
    );
    status.metadata_mut().insert(CERTIFICATE_EXPIRED_METADATA, MetadataValue::from_static("true"));
    status
}
