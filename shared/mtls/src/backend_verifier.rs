//! Verifies the backend's certificate in the handshake, before the device sends application data: a
//! trusted authority signed it, for a server, under the fixed name.

use std::sync::{Arc, OnceLock};

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{verify_server_cert_signed_by_trust_anchor, verify_server_name};
use rustls::crypto::{WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, DigitallySignedStruct, Error, OtherError, RootCertStore, SignatureScheme,
};

use crate::certificate::Facts;
use crate::error::PeerError;
use crate::fingerprint::{Fingerprint, PinSet};

/// How a device identifies its authority.
#[derive(Debug)]
pub(crate) enum Trust {
    /// By fingerprint only, from an invitation; the backend presents the certificate itself.
    Pinned(PinSet),
    /// By the certificates from its enrolment.
    Roots(RootCertStore),
    /// Not at all: the authority that signed the backend's certificate is noted, for people to compare.
    FirstSeen(Arc<OnceLock<Fingerprint>>),
}

/// Verifies a backend's certificate.
#[derive(Debug)]
pub(crate) struct BackendVerifier {
    /// The authorities whose signature is accepted.
    pub(crate) trust: Trust,
    /// The name that the certificate must contain, whatever address was dialled.
    pub(crate) name: ServerName<'static>,
    /// The signature algorithms of the provider.
    pub(crate) algorithms: WebPkiSupportedAlgorithms,
}

impl ServerCertVerifier for BackendVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _dialled: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let shown;
        let mut seen = None;
        let roots = match &self.trust {
            Trust::Roots(roots) => roots,
            Trust::Pinned(pins) => {
                shown = pinned_authorities(pins, intermediates)?;
                &shown
            }
            Trust::FirstSeen(noted) => {
                let (authority, root) = only_authority(intermediates)?;
                seen = Some((noted, authority));
                shown = root;
                &shown
            }
        };
        let parsed = ParsedCertificate::try_from(end_entity)?;
        // No intermediate certificate between the authority and the backend is accepted.
        verify_server_cert_signed_by_trust_anchor(&parsed, roots, &[], now, self.algorithms.all)?;
        verify_server_name(&parsed, &self.name)?;
        let facts = Facts::read(end_entity).map_err(refused)?;
        if facts.is_ca {
            return Err(refused(PeerError::IsAuthority));
        }
        if !facts.for_servers {
            return Err(refused(PeerError::WrongPurpose));
        }
        // Another authority than the one that was noted first is refused, should the configuration be used twice.
        if let Some((noted, authority)) = seen
            && noted.get_or_init(|| authority) != &authority
        {
            return Err(refused(PeerError::NotPinned));
        }
        Ok(ServerCertVerified::assertion())
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

/// Returns the authorities among `shown` whose fingerprints are pinned. This proves nothing yet: anyone
/// can present a public certificate. The caller checks that one of them signed the backend's.
fn pinned_authorities(pins: &PinSet, shown: &[CertificateDer<'_>]) -> Result<RootCertStore, Error> {
    let mut roots = RootCertStore::empty();
    let pinned =
        shown.iter().filter(|certificate| pins.contains(&Fingerprint::of_certificate(certificate)));
    for certificate in pinned {
        if Facts::read(certificate).map_err(refused)?.is_leaf_authority {
            roots.add(certificate.clone().into_owned())?;
        }
    }
    if roots.is_empty() {
        return Err(refused(PeerError::NotPinned));
    }
    Ok(roots)
}

/// Returns the authority that a backend presents behind its own certificate. A backend presents exactly one, so that
/// it is clear which one a person compares. The caller checks that it signed the backend's certificate.
fn only_authority(shown: &[CertificateDer<'_>]) -> Result<(Fingerprint, RootCertStore), Error> {
    let [certificate] = shown else {
        return Err(refused(PeerError::NotOneAuthority));
    };
    if !Facts::read(certificate).map_err(refused)?.is_leaf_authority {
        return Err(refused(PeerError::NotOneAuthority));
    }
    let mut root = RootCertStore::empty();
    root.add(certificate.clone().into_owned())?;
    Ok((Fingerprint::of_certificate(certificate), root))
}

fn refused(error: PeerError) -> Error {
    CertificateError::Other(OtherError(Arc::new(error))).into()
}
