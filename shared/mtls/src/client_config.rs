//! The device's TLS configurations: one for enrolment, which pins a fingerprint, one that notes whom it meets, for
//! people to compare, and one with the device's own certificate for every later connection.

use std::sync::{Arc, OnceLock};

use rustls::client::{Resumption, WantsClientCert};
use rustls::pki_types::ServerName;
use rustls::version::TLS13;
use rustls::{ClientConfig, ConfigBuilder};

use crate::backend_verifier::{BackendVerifier, Trust};
use crate::certificate::{one_from_pem, roots_from_pem};
use crate::error::MtlsError;
use crate::fingerprint::{Fingerprint, PinSet};
use crate::identity::DeviceKey;
use crate::peer::DeviceIdentity;
use crate::provider::provider;
use crate::{ALPN_HTTP2, SERVER_NAME};

/// Returns the configuration for enrolment: no client certificate, and only a backend whose authority is
/// in `pins`. The check is part of the handshake, so no application data leaves the device before it
/// passes.
///
/// # Errors
/// [`MtlsError::Tls`] when rustls rejects the configuration.
pub fn pinned(pins: PinSet) -> Result<Arc<ClientConfig>, MtlsError> {
    Ok(finished(builder(Trust::Pinned(pins))?.with_no_client_auth()))
}

/// The authority that a connection with [`first_seen`] met.
#[derive(Debug, Clone, Default)]
pub struct FirstSeen(Arc<OnceLock<Fingerprint>>);

impl FirstSeen {
    /// Returns the fingerprint of the authority's certificate. None before the first handshake succeeded.
    #[must_use]
    pub fn authority(&self) -> Option<Fingerprint> {
        self.0.get().copied()
    }
}

/// Returns the configuration for a device that knows no authority yet: no client certificate, and any backend. Which
/// authority it met is noted in the returned [`FirstSeen`]. **Nothing secret may be sent over such a connection**, and
/// nothing that it says may be trusted, before people have compared the authority ([`Comparison`](crate::Comparison)).
///
/// # Errors
/// [`MtlsError::Tls`] when rustls rejects the configuration.
pub fn first_seen() -> Result<(Arc<ClientConfig>, FirstSeen), MtlsError> {
    let seen = FirstSeen::default();
    let trust = Trust::FirstSeen(Arc::clone(&seen.0));
    Ok((finished(builder(trust)?.with_no_client_auth()), seen))
}

/// Returns the configuration of an enrolled device: the device's own certificate, and only a backend
/// whose certificate one of `ca_certs_pem` signed.
///
/// # Errors
/// [`MtlsError`] when a certificate cannot be read, is of the wrong kind, or was not issued for `key`.
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
    // Every connection verifies the backend's certificate; a resumed one would not.
    config.resumption = Resumption::disabled();
    Arc::new(config)
}
