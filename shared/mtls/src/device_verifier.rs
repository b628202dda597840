//! What the device listener asks of a certificate, in the handshake: that one of our authorities
//! signed it, that it is a device's, and that it was not revoked.

use std::fmt;
use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, SignatureScheme,
};

use crate::peer::DeviceIdentity;
use crate::server_config::RevocationCheck;

/// webpki's verifier with what it leaves to its caller: purpose, name and revocation.
pub(crate) struct DeviceVerifier {
    /// Verifies chain, validity and signatures; a client may also come without a certificate.
    pub(crate) chain: Arc<dyn ClientCertVerifier>,
    /// Asked last, for a certificate that is otherwise good.
    pub(crate) is_revoked: RevocationCheck,
}

impl fmt::Debug for DeviceVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceVerifier").finish_non_exhaustive()
    }
}

impl ClientCertVerifier for DeviceVerifier {
    fn client_auth_mandatory(&self) -> bool {
        self.chain.client_auth_mandatory()
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.chain.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        // Our authorities sign devices directly, so nothing in between is accepted; webpki would
        // not hold a trust anchor to its path length.
        let verified = self.chain.verify_client_cert(end_entity, &[], now)?;
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
        self.chain.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.chain.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.chain.supported_verify_schemes()
    }
}
