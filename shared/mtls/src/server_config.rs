//! The backend's end of a device's connection.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::NoServerSessionStorage;
use rustls::version::TLS13;

use crate::ALPN_HTTP2;
use crate::device_verifier::{DeviceTrust, DeviceVerifier};
use crate::error::MtlsError;
use crate::provider::provider;
use crate::server_certificate::ServerCertificate;

/// Whether the certificate with this serial number (lower-case hexadecimal) was revoked.
///
/// It is asked in every handshake and must answer from memory. Where the answer can't be known it
/// should be `true`: a device that was refused tries again, one that was let in is in.
pub type RevocationCheck = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The TLS configuration of the listener that devices dial: TLS 1.3 and HTTP/2 only.
///
/// A client without a certificate completes the handshake, because a device has none while it
/// enrols; **every other RPC must ask for the
/// [`DeviceIdentity`](crate::peer::DeviceIdentity) of its connection**. A certificate that is shown
/// must be a device's, in date, signed by one of `ca_certs_pem` and not revoked; otherwise the
/// handshake fails.
///
/// # Errors
/// [`MtlsError`] when `ca_certs_pem` holds no authority or something else than authorities.
pub fn device_listener(
    ca_certs_pem: &[impl AsRef<str>],
    certificate: Arc<ServerCertificate>,
    is_revoked: RevocationCheck,
) -> Result<Arc<ServerConfig>, MtlsError> {
    device_listener_trusting(Arc::new(DeviceTrust::new(ca_certs_pem)?), certificate, is_revoked)
}

/// The same, for authorities that may be replaced while it listens.
///
/// # Errors
/// [`MtlsError::Tls`] when rustls refuses the configuration.
pub fn device_listener_trusting(
    trust: Arc<DeviceTrust>,
    certificate: Arc<ServerCertificate>,
    is_revoked: RevocationCheck,
) -> Result<Arc<ServerConfig>, MtlsError> {
    let provider = provider();
    let algorithms = provider.signature_verification_algorithms;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(DeviceVerifier { trust, algorithms, is_revoked }))
        .with_cert_resolver(certificate);
    config.alpn_protocols = vec![ALPN_HTTP2.to_vec()];
    // A resumed session takes the peer's certificate from the session before and asks no verifier,
    // so a revoked or expired device could go on resuming. Devices hold one long connection each;
    // what resumption would save is not worth that.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    // Data in the first flight can be replayed, and data before the client's certificate is
    // verified would go to nobody in particular. Both are rustls' defaults, and relied on.
    config.max_early_data_size = 0;
    config.send_half_rtt_data = false;
    Ok(Arc::new(config))
}
