//! The connection that a device talks on, as TLS left it.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use orion_mtls::{DeviceIdentity, Fingerprint};
use tonic::{Request, Status};

use crate::backend::Backend;
use crate::clock::now_ms;
use crate::fleet::enrollment::EnrollError;
use crate::listen::Peer;
use crate::rpc::status;

/// Why a connection is good no longer, once it is not.
pub(in crate::rpc) type ConnectionEnd = Pin<Box<dyn Future<Output = &'static str> + Send>>;

/// What a device talks on.
pub(in crate::rpc) struct Connection {
    /// When it began.
    pub(in crate::rpc) since: Instant,
    /// The serial number of the certificate that was shown, hexadecimal.
    pub(in crate::rpc) serial: String,
    /// The name of the authority that signed that; none in a simulation.
    pub(in crate::rpc) issuer: Option<Fingerprint>,
    /// When its certificate is good no longer.
    pub(in crate::rpc) over: ConnectionEnd,
}

/// Waits until a certificate that was checked in the handshake is good no longer.
pub(super) fn over(backend: &Arc<Backend>, identity: &DeviceIdentity) -> ConnectionEnd {
    let good_for = identity.not_after_ms.saturating_sub(now_ms());
    let good_for = Duration::from_millis(u64::try_from(good_for).unwrap_or_default());
    let (backend, issuer) = (Arc::clone(backend), identity.issuer);
    Box::pin(async move {
        tokio::select! {
            () = tokio::time::sleep(good_for) => "its certificate has ended",
            () = backend.authority.disconnected(issuer) => "the authority of its certificate was retired",
        }
    })
}

/// When the connection of a request began.
pub(super) fn since<T>(request: &Request<T>) -> Instant {
    request.extensions().get::<Peer>().map_or_else(Instant::now, |peer| peer.since)
}

/// The device whose certificate was checked in the handshake, and is good still: a connection may be
/// kept for longer than that.
pub(super) fn good<T>(
    backend: &Backend,
    request: &Request<T>,
) -> Result<Arc<DeviceIdentity>, Status> {
    let device = request.extensions().get::<Peer>().and_then(|peer| peer.device.clone());
    let Some(identity) = device else {
        return Err(Status::unauthenticated("This device showed no certificate."));
    };
    if identity.not_after_ms <= now_ms() {
        return Err(Status::unauthenticated(
            "The certificate of this connection has ended. Connect with a newer one, or enrol the device anew with a token of `orion devices invite`.",
        ));
    }
    if !backend.authority.set().holds(&identity.issuer) {
        return Err(status::enroll(EnrollError::Retired));
    }
    Ok(identity)
}
