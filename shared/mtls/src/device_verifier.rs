//! Verifies a device's certificate in the handshake: one of the installation's authorities signed it, it
//! is a device's, and it is not revoked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, SignatureScheme,
};

use crate::certificate::roots_from_pem;
use crate::error::MtlsError;
use crate::peer::DeviceIdentity;
use crate::provider::provider;

/// Returns whether the certificate with this serial number (lower-case hexadecimal) is revoked.
///
/// Called in every handshake, so it must read from memory. When the status is unknown it should return
/// `true`: a rejected device retries, an accepted one stays connected.
pub type RevocationCheck = Arc<dyn Fn(&str) -> bool + Send + Sync>;

/// The authorities whose devices a backend accepts, replaceable while it listens. Handshakes that begin
/// after a [`replace`](Self::replace) use the new ones.
pub struct DeviceTrust(ArcSwap<Chain>);

/// webpki's verifier, which checks the chain, the dates and the purpose.
struct Chain(Arc<dyn ClientCertVerifier>);

impl DeviceTrust {
    /// Creates a trust store of the authorities in these PEM texts.
    ///
    /// # Errors
    /// [`MtlsError`] when the texts hold no authority or something other than authorities.
    pub fn new(ca_certs_pem: &[impl AsRef<str>]) -> Result<Self, MtlsError> {
        Ok(Self(ArcSwap::from_pointee(chain(ca_certs_pem)?)))
    }

    /// Trusts only these authorities from the next handshake on.
    ///
    /// # Errors
    /// As [`new`](Self::new); the previous authorities then stay trusted.
    pub fn replace(&self, ca_certs_pem: &[impl AsRef<str>]) -> Result<(), MtlsError> {
        self.0.store(Arc::new(chain(ca_certs_pem)?));
        Ok(())
    }
}

fn chain(ca_certs_pem: &[impl AsRef<str>]) -> Result<Chain, MtlsError> {
    let roots = Arc::new(roots_from_pem(ca_certs_pem)?);
    let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider())
        .allow_unauthenticated()
        .build()?;
    Ok(Chain(verifier))
}

impl fmt::Debug for DeviceTrust {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceTrust").finish_non_exhaustive()
    }
}

/// webpki's verifier with the checks that it leaves to its caller: purpose, name and revocation.
pub(crate) struct DeviceVerifier {
    /// The authorities whose signature is accepted.
    pub(crate) trust: Arc<DeviceTrust>,
    /// The signature algorithms of the provider.
    pub(crate) algorithms: WebPkiSupportedAlgorithms,
    /// Called last, for a certificate that is otherwise valid.
    pub(crate) is_revoked: RevocationCheck,
    /// How long after its end a certificate is still accepted. What such a connection may do is up to who
    /// answers it.
    pub(crate) renew_within: Duration,
}

impl DeviceVerifier {
    /// Returns the last moment of a certificate that has ended, and not too long ago.
    fn end(&self, certificate: &CertificateDer<'_>, now: UnixTime) -> Option<UnixTime> {
        let device = DeviceIdentity::from_certificate(certificate).ok()?;
        let end = Duration::from_millis(device.not_after_ms.try_into().ok()?);
        let since = Duration::from_secs(now.as_secs()).checked_sub(end)?;
        (since <= self.renew_within).then(|| UnixTime::since_unix_epoch(end))
    }
}

const fn has_expired(error: &Error) -> bool {
    matches!(
        error,
        Error::InvalidCertificate(
            CertificateError::Expired | CertificateError::ExpiredContext { .. }
        )
    )
}

impl fmt::Debug for DeviceVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceVerifier").finish_non_exhaustive()
    }
}

impl ClientCertVerifier for DeviceVerifier {
    fn client_auth_mandatory(&self) -> bool {
        // A device that enrols has no certificate.
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        // A device has one certificate, so it needs no hint. An unauthenticated client need not learn
        // which authorities exist.
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        // The authorities sign devices directly, so no intermediate is accepted. webpki does not apply a
        // path length to a trust anchor.
        let trust = self.trust.0.load();
        let verified = match trust.0.verify_client_cert(end_entity, &[], now) {
            // A device that slept may come back with a certificate that was valid until a while ago.
            Err(error) if has_expired(&error) => {
                let end = self.end(end_entity, now).ok_or(error)?;
                trust.0.verify_client_cert(end_entity, &[], end)?
            }
            verified => verified?,
        };
        let device = DeviceIdentity::from_certificate(end_entity)
            .map_err(|error| CertificateError::Other(OtherError(Arc::new(error))))?;
        if (self.is_revoked)(&device.serial_hex) {
            return Err(CertificateError::Revoked.into());
        }
        Ok(verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
