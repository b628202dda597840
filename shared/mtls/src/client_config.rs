//! The device's end of the connection: once to enrol, knowing only a fingerprint, and from then on
//! with a certificate of its own.

use std::sync::Arc;

use rustls::client::{Resumption, WantsClientCert};
use rustls::pki_types::ServerName;
use rustls::version::TLS13;
use rustls::{ClientConfig, ConfigBuilder};

use crate::backend_verifier::{BackendVerifier, Trust};
use crate::certificate::{one_from_pem, roots_from_pem};
use crate::error::MtlsError;
use crate::fingerprint::PinSet;
use crate::identity::DeviceKey;
use crate::peer::DeviceIdentity;
use crate::provider::provider;
use crate::{ALPN_HTTP2, SERVER_NAME};

/// The configuration for enrolling: no certificate of its own, and only a backend whose authority
/// is in `pins`. The check is part of the handshake, so nothing that the application writes leaves
/// the device before it has passed.
///
/// # Errors
/// [`MtlsError::Tls`] when rustls refuses the configuration.
pub fn pinned(pins: PinSet) -> Result<Arc<ClientConfig>, MtlsError> {
    Ok(finished(builder(Trust::Pinned(pins))?.with_no_client_auth()))
}

/// The configuration of an enrolled device: only a backend that one of `ca_certs_pem` vouches for,
/// and the device's own certificate.
///
/// # Errors
/// [`MtlsError`] when a certificate can't be read, isn't what its place asks for, or wasn't made
/// for `key`.
pub fn mutual(
    ca_certs_pem: &[impl AsRef<str>],
    cert_pem: &str,
    key: &DeviceKey,
) -> Result<Arc<ClientConfig>, MtlsError> {
    let certificate = one_from_pem(cert_pem)?;
    let device = DeviceIdentity::from_certificate(&certificate)?;
    if device.public_key_fingerprint != key.fingerprint() {
        return Err(MtlsError::KeyMismatch);
    }
    let roots = roots_from_pem(ca_certs_pem)?;
    let config = builder(Trust::Roots(roots))?
        .with_client_auth_cert(vec![certificate], key.private_key_der())?;
    Ok(finished(config))
}

fn builder(trust: Trust) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, MtlsError> {
    let provider = provider();
    let verifier = BackendVerifier {
        trust,
        name: ServerName::try_from(SERVER_NAME)
            .map_err(|_| MtlsError::ServerName(SERVER_NAME.to_owned()))?,
        algorithms: provider.signature_verification_algorithms,
    };
    Ok(ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&TLS13])?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier)))
}

fn finished(mut config: ClientConfig) -> Arc<ClientConfig> {
    config.alpn_protocols = vec![ALPN_HTTP2.to_vec()];
    // Every connection verifies the backend anew; a resumed one would not.
    config.resumption = Resumption::disabled();
    Arc::new(config)
}
