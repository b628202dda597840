//! Reads certificates from PEM and extracts their contents.
//!
//! webpki verifies signatures and chains, never this module. This module only checks what webpki leaves
//! to its caller (it accepts, for example, a certificate without any purpose).

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rcgen::{PublicKeyData as _, SubjectPublicKeyInfo};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::csr::is_accepted;
use crate::error::{MtlsError, PeerError};
use crate::fingerprint::Fingerprint;

/// The maximum number of certificates in one PEM text.
const MAX_CERTIFICATES: usize = 16;

/// The contents of a certificate.
#[derive(Debug)]
pub(crate) struct Facts {
    /// The serial number, lower-case hexadecimal without leading zero bytes.
    pub(crate) serial_hex: String,
    /// Start of validity, Unix milliseconds.
    pub(crate) not_before_ms: i64,
    /// End of validity, Unix milliseconds.
    pub(crate) not_after_ms: i64,
    /// Whether the certificate says CA:true.
    pub(crate) is_ca: bool,
    /// Whether it says CA:true with a path length of 0, and may sign certificates.
    pub(crate) is_leaf_authority: bool,
    /// Whether its purposes are exactly client authentication.
    pub(crate) for_clients: bool,
    /// Whether its purposes are exactly server authentication.
    pub(crate) for_servers: bool,
    /// The only subject alternative name, if there is exactly one and it is a URI; otherwise `None`.
    pub(crate) only_uri: Option<String>,
    /// SHA-256 of the SubjectPublicKeyInfo.
    pub(crate) public_key: Fingerprint,
    /// Whether the public key's type is accepted for devices.
    pub(crate) has_accepted_key: bool,
    /// SHA-256 of the subject's name.
    pub(crate) subject: Fingerprint,
    /// SHA-256 of the issuer's name.
    pub(crate) issuer: Fingerprint,
}

impl Facts {
    /// Reads a DER certificate; anything not fully understood is an error.
    pub(crate) fn read(certificate: &CertificateDer<'_>) -> Result<Self, PeerError> {
        let (rest, parsed) =
            X509Certificate::from_der(certificate).map_err(|_| PeerError::Unreadable)?;
        if !rest.is_empty() {
            return Err(PeerError::Unreadable);
        }
        // These three fail when an extension appears twice or cannot be parsed.
        let constraints = parsed
            .basic_constraints()
            .map_err(|_| PeerError::Unreadable)?
            .map(|extension| extension.value);
        let key_usage =
            parsed.key_usage().map_err(|_| PeerError::Unreadable)?.map(|extension| extension.value);
        let purposes = parsed
            .extended_key_usage()
            .map_err(|_| PeerError::Unreadable)?
            .map(|extension| extension.value);
        let names = parsed
            .subject_alternative_name()
            .map_err(|_| PeerError::Unreadable)?
            .map(|extension| extension.value.general_names.as_slice());

        // (client authentication, server authentication, anything else)
        let purposes = purposes.map(|usage| {
            let other = usage.any
                || usage.code_signing
                || usage.email_protection
                || usage.time_stamping
                || usage.ocsp_signing
                || !usage.other.is_empty();
            (usage.client_auth, usage.server_auth, other)
        });
        let is_ca = constraints.is_some_and(|value| value.ca);
        let serial = parsed.raw_serial();
        let leading_zeros = serial.iter().take_while(|byte| **byte == 0).count();
        Ok(Self {
            serial_hex: hex::encode(&serial[leading_zeros..]),
            not_before_ms: parsed.validity().not_before.timestamp().saturating_mul(1000),
            not_after_ms: parsed.validity().not_after.timestamp().saturating_mul(1000),
            is_ca,
            is_leaf_authority: is_ca
                && constraints.is_some_and(|value| value.path_len_constraint == Some(0))
                && key_usage.is_some_and(|usage| usage.key_cert_sign()),
            for_clients: purposes == Some((true, false, false)),
            for_servers: purposes == Some((false, true, false)),
            only_uri: match names {
                Some([GeneralName::URI(uri)]) => Some((*uri).to_owned()),
                Some(_) | None => None,
            },
            public_key: Fingerprint::of_public_key(parsed.public_key().raw),
            has_accepted_key: SubjectPublicKeyInfo::from_der(parsed.public_key().raw)
                .is_ok_and(|key| is_accepted(key.algorithm())),
            subject: Fingerprint::of_name(parsed.subject().as_raw()),
            issuer: Fingerprint::of_name(parsed.issuer().as_raw()),
        })
    }
}

/// Returns all certificates of a PEM text, in order: at least one, at most sixteen.
pub(crate) fn chain_from_pem(pem: &str) -> Result<Vec<CertificateDer<'static>>, MtlsError> {
    let mut chain = Vec::new();
    let mut whole = true;
    for certificate in CertificateDer::pem_slice_iter(pem.as_bytes()) {
        match certificate {
            Ok(certificate) if chain.len() < MAX_CERTIFICATES => chain.push(certificate),
            Ok(_) | Err(_) => {
                whole = false;
                break;
            }
        }
    }
    if whole && !chain.is_empty() {
        Ok(chain)
    } else {
        Err(MtlsError::CertificateCount {
            expected: "one to sixteen certificates",
            found: chain.len(),
        })
    }
}

/// Encodes a certificate as PEM.
pub(crate) fn to_pem(certificate: &CertificateDer<'_>) -> String {
    let text = STANDARD.encode(certificate);
    let mut pem = String::from("-----BEGIN CERTIFICATE-----\n");
    // Base64 is ASCII, so every position is a character boundary.
    for line in text.as_bytes().chunks(64).filter_map(|line| str::from_utf8(line).ok()) {
        pem.push_str(line);
        pem.push('\n');
    }
    pem.push_str("-----END CERTIFICATE-----\n");
    pem
}

/// Returns the certificate of a PEM text that must hold exactly one.
pub(crate) fn one_from_pem(pem: &str) -> Result<CertificateDer<'static>, MtlsError> {
    let chain = chain_from_pem(pem)?;
    let found = chain.len();
    let [certificate] = <[_; 1]>::try_from(chain)
        .map_err(|_| MtlsError::CertificateCount { expected: "exactly one certificate", found })?;
    Ok(certificate)
}

/// Builds a root store of the authorities in the given PEM texts, each of which may hold several.
pub(crate) fn roots_from_pem(pems: &[impl AsRef<str>]) -> Result<RootCertStore, MtlsError> {
    let mut roots = RootCertStore::empty();
    for pem in pems {
        for certificate in chain_from_pem(pem.as_ref())? {
            if !Facts::read(&certificate)?.is_leaf_authority {
                return Err(MtlsError::NotAnAuthority);
            }
            roots.add(certificate)?;
        }
    }
    match roots.len() {
        1..=MAX_CERTIFICATES => Ok(roots),
        found => Err(MtlsError::CertificateCount {
            expected: "one to sixteen certificate authorities",
            found,
        }),
    }
}
