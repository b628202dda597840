//! The backend's TLS configuration for connections of devices.

use std::sync::Arc;
use std::time::Duration;

use rustls::ServerConfig;
use rustls::server::NoServerSessionStorage;
use rustls::version::TLS13;

use crate::ALPN_HTTP2;
use crate::device_verifier::{DeviceTrust, DeviceVerifier, RevocationCheck};
use crate::error::MtlsError;
use crate::provider::provider;
use crate::server_certificate::ServerCertificate;

/// Returns the TLS configuration of the device listener: TLS 1.3 and HTTP/2 only.
///
/// A client without a certificate completes the handshake, because a device has none while it enrols.
/// **Every other RPC must require the [`DeviceIdentity`](crate::peer::DeviceIdentity) of its
/// connection.** A presented certificate must be a device's, in date, signed by one of `ca_certs_pem`
/// and not revoked; otherwise the handshake fails.
///
/// # Errors
/// [`MtlsError`] when `ca_certs_pem` holds no authority or something other than authorities.
pub fn device_listener(
    ca_certs_pem: &[impl AsRef<str>],
    certificate: Arc<ServerCertificate>,
    is_revoked: RevocationCheck,
) -> Result<Arc<ServerConfig>, MtlsError> {
    let trust = Arc::new(DeviceTrust::new(ca_certs_pem)?);
    device_listener_trusting(trust, certificate, is_revoked, Duration::ZERO)
}

/// As [`device_listener`], for authorities that may be replaced while it listens.
///
/// A certificate is accepted until `renew_within` after its end, so that a device that slept can renew it.
/// **Every RPC but that one must check [`DeviceIdentity::not_after_ms`](crate::peer::DeviceIdentity::not_after_ms).**
///
/// # Errors
/// [`MtlsError::Tls`] when rustls rejects the configuration.
pub fn device_listener_trusting(
    trust: Arc<DeviceTrust>,
    certificate: Arc<ServerCertificate>,
    is_revoked: RevocationCheck,
    renew_within: Duration,
) -> Result<Arc<ServerConfig>, MtlsError> {
    let provider = provider();
    let algorithms = provider.signature_verification_algorithms;
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .with_client_cert_verifier(Arc::new(DeviceVerifier {
            trust,
            algorithms,
            is_revoked,
            renew_within,
        }))
        .with_cert_resolver(certificate);
    config.alpn_protocols = vec![ALPN_HTTP2.to_vec()];
    // A resumed session takes the peer's certificate from the previous session and calls no verifier, so
    // a revoked or expired device could keep resuming. Each device has one long connection; resumption
    // would save too little.
    config.send_tls13_tickets = 0;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    // Early data can be replayed, and data before the client's certificate is verified has no known
    // sender. Both settings are rustls' defaults; the code relies on them.
    config.max_early_data_size = 0;
    config.send_half_rtt_data = false;
    Ok(Arc::new(config))
}
