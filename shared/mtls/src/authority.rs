//! The certificate authority of one installation. It signs two kinds of certificate and nothing else: a
//! device's (client authentication) and a backend's (server authentication).

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, PublicKeyData, SanType, SerialNumber,
};
use rustls::pki_types::{CertificateDer, DnsName};
use time::OffsetDateTime;

use crate::SERVER_NAME;
use crate::certificate::{Facts, one_from_pem, to_pem};
use crate::csr::VerifiedCsr;
use crate::error::MtlsError;
use crate::fingerprint::Fingerprint;
use crate::peer::{DEVICE_URI_PREFIX, is_uuid};
use crate::provider::random;
use crate::secret::Secret;

/// The validity of an authority: ten years.
const AUTHORITY_VALIDITY: Duration = Duration::from_hours(24 * 3650);
/// How far certificates are backdated, for devices whose clocks run behind.
const BACKDATED: Duration = Duration::from_mins(5);
/// The shortest and longest validity of an issued certificate.
const VALIDITY: std::ops::RangeInclusive<Duration> =
    Duration::from_secs(5)..=Duration::from_hours(24 * 397);
/// The maximum number of names in one server certificate.
const MAX_SERVER_NAMES: usize = 64;

/// An authority: its key (ECDSA P-256) and its own certificate.
pub struct CertificateAuthority {
    issuer: Issuer<'static, KeyPair>,
    cert_pem: String,
    cert_der: CertificateDer<'static>,
    name: Fingerprint,
    not_before_ms: i64,
    not_after_ms: i64,
}

/// A certificate issued to a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssuedCertificate {
    /// The certificate, PEM.
    pub cert_pem: String,
    /// The serial number, lower-case hexadecimal, by which the certificate is revoked.
    pub serial_hex: String,
    /// Unix milliseconds. The end of validity.
    pub not_after_ms: i64,
    /// The fingerprint of the certified public key.
    pub public_key_fingerprint: Fingerprint,
}

/// A certificate issued to a backend, with its key.
#[derive(Debug, Clone)]
pub struct IssuedServerCertificate {
    /// The certificate followed by the authority's (PEM), because a device that pins the authority needs
    /// its certificate.
    pub chain_pem: String,
    /// The private key, PKCS#8 PEM.
    pub key_pem: Secret<String>,
    /// The certificate's serial number, lower-case hexadecimal.
    pub serial_hex: String,
    /// Unix milliseconds. The end of validity.
    pub not_after_ms: i64,
}

impl CertificateAuthority {
    /// Creates an authority, valid for ten years from `now_ms` (Unix milliseconds).
    ///
    /// # Errors
    /// [`MtlsError`] when there is no randomness or the time cannot be expressed.
    pub fn create(now_ms: i64) -> Result<Self, MtlsError> {
        let key = KeyPair::generate()?;
        // The name differs from authority to authority, so that two of them can be distinguished during
        // a rotation.
        let fingerprint = Fingerprint::of_public_key(&key.subject_public_key_info()).to_string();
        let mut params = CertificateParams::default();
        params.distinguished_name = common_name(&format!("Orion authority {}", &fingerprint[..16]));
        params.not_before = at(now_ms.saturating_sub(millis(BACKDATED)))?;
        params.not_after = at(now_ms.saturating_add(millis(AUTHORITY_VALIDITY)))?;
        params.serial_number = Some(serial_number()?);
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        let cert_pem = params.self_signed(&key)?.pem();
        Self::load(&key.serialize_pem(), &cert_pem)
    }

    /// Loads an authority that [`create`](Self::create) made.
    ///
    /// # Errors
    /// [`MtlsError`] when either part cannot be read, they do not belong together, or the certificate is
    /// not an authority's.
    pub fn load(key_pem: &str, cert_pem: &str) -> Result<Self, MtlsError> {
        let key = KeyPair::from_pem(key_pem).map_err(|_| MtlsError::UnreadableKey)?;
        Self::from_parts(key, one_from_pem(cert_pem)?)
    }

    /// Creates the authority from parsed parts.
    pub(crate) fn from_parts(
        key: KeyPair,
        cert_der: CertificateDer<'static>,
    ) -> Result<Self, MtlsError> {
        if key.algorithm() != &PKCS_ECDSA_P256_SHA256 {
            return Err(MtlsError::UnreadableKey);
        }
        let facts = Facts::read(&cert_der)?;
        if !facts.is_leaf_authority {
            return Err(MtlsError::NotAnAuthority);
        }
        if facts.public_key != Fingerprint::of_public_key(&key.subject_public_key_info()) {
            return Err(MtlsError::KeyMismatch);
        }
        Ok(Self {
            issuer: Issuer::from_ca_cert_der(&cert_der, key)?,
            cert_pem: to_pem(&cert_der),
            cert_der,
            name: facts.subject,
            not_before_ms: facts.not_before_ms,
            not_after_ms: facts.not_after_ms,
        })
    }

    /// Returns the authority's private key, PKCS#8 PEM. Its holder can impersonate any device and any
    /// backend.
    pub fn key_pem(&self) -> Secret<String> {
        Secret::new(self.issuer.key().serialize_pem())
    }

    /// Returns the authority's certificate, PEM.
    pub fn cert_pem(&self) -> &str {
        &self.cert_pem
    }

    /// Returns the fingerprint of the authority's certificate, which an invitation pins.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_certificate(&self.cert_der)
    }

    /// Returns the fingerprint of the authority's name, the issuer name in the certificates that it
    /// signed. It is unique to each authority that [`create`](Self::create) makes.
    pub fn name(&self) -> Fingerprint {
        self.name
    }

    /// Returns the start of validity, Unix milliseconds.
    pub fn not_before_ms(&self) -> i64 {
        self.not_before_ms
    }

    /// Returns whether the authority can sign at `now_ms`, Unix milliseconds.
    pub fn is_in_date(&self, now_ms: i64) -> bool {
        (self.not_before_ms..self.not_after_ms).contains(&now_ms)
    }

    /// Returns the end of validity, Unix milliseconds. No issued certificate is valid longer.
    pub fn not_after_ms(&self) -> i64 {
        self.not_after_ms
    }

    /// Issues a device's certificate for the public key in `csr` (PEM or DER). Name and purpose are set
    /// here; those in the request are ignored.
    ///
    /// `device_id` is the device's UUID, `validity` five seconds to 397 days (shortened to the
    /// authority's own end), `now_ms` Unix milliseconds.
    ///
    /// # Errors
    /// [`MtlsError::Csr`] for a bad request; other errors are this side's.
    pub fn issue_device(
        &self,
        csr: &[u8],
        device_id: &str,
        validity: Duration,
        now_ms: i64,
    ) -> Result<IssuedCertificate, MtlsError> {
        let csr = VerifiedCsr::parse(csr)?;
        if !is_uuid(device_id) {
            return Err(MtlsError::DeviceId);
        }
        let mut params = self.leaf(device_id, validity, now_ms)?;
        let uri = format!("{DEVICE_URI_PREFIX}{device_id}");
        params.subject_alt_names = vec![SanType::URI(uri.try_into()?)];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        let certificate = params.signed_by(&csr.public_key, &self.issuer)?;
        let facts = Facts::read(certificate.der())?;
        Ok(IssuedCertificate {
            cert_pem: certificate.pem(),
            serial_hex: facts.serial_hex,
            not_after_ms: facts.not_after_ms,
            public_key_fingerprint: facts.public_key,
        })
    }

    /// Issues a key and a certificate for a backend, under the given DNS names and IP addresses and
    /// always under [`SERVER_NAME`]. `validity` and `now_ms` as for
    /// [`issue_device`](Self::issue_device).
    ///
    /// # Errors
    /// [`MtlsError::ServerName`] for an invalid name, [`MtlsError`] for the rest.
    pub fn issue_server(
        &self,
        names: &[String],
        validity: Duration,
        now_ms: i64,
    ) -> Result<IssuedServerCertificate, MtlsError> {
        if names.len() > MAX_SERVER_NAMES {
            return Err(MtlsError::TooManyServerNames {
                count: names.len(),
                limit: MAX_SERVER_NAMES,
            });
        }
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let mut params = self.leaf(SERVER_NAME, validity, now_ms)?;
        params.subject_alt_names = std::iter::once(SERVER_NAME)
            .chain(names.into_iter().filter(|name| *name != SERVER_NAME))
            .map(subject_alternative_name)
            .collect::<Result<_, _>>()?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        let facts = Facts::read(certificate.der())?;
        Ok(IssuedServerCertificate {
            chain_pem: [certificate.pem().trim_end(), self.cert_pem.trim(), ""].join("\n"),
            key_pem: Secret::new(key.serialize_pem()),
            serial_hex: facts.serial_hex,
            not_after_ms: facts.not_after_ms,
        })
    }

    /// Returns the parameters that both kinds of certificate share.
    fn leaf(
        &self,
        subject: &str,
        validity: Duration,
        now_ms: i64,
    ) -> Result<CertificateParams, MtlsError> {
        if !VALIDITY.contains(&validity) {
            return Err(MtlsError::Validity);
        }
        if !self.is_in_date(now_ms) {
            return Err(MtlsError::AuthorityNotValid);
        }
        let not_after_ms = now_ms.saturating_add(millis(validity)).min(self.not_after_ms);
        let mut params = CertificateParams::default();
        params.distinguished_name = common_name(subject);
        params.not_before = at(now_ms.saturating_sub(millis(BACKDATED)))?;
        params.not_after = at(not_after_ms)?;
        params.serial_number = Some(serial_number()?);
        params.is_ca = IsCa::ExplicitNoCa;
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        Ok(params)
    }
}

impl fmt::Debug for CertificateAuthority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CertificateAuthority({})", self.fingerprint())
    }
}

fn common_name(name: &str) -> DistinguishedName {
    let mut distinguished = DistinguishedName::new();
    distinguished.push(DnType::CommonName, name);
    distinguished
}

fn subject_alternative_name(name: &str) -> Result<SanType, MtlsError> {
    if let Ok(address) = name.parse::<IpAddr>() {
        return Ok(SanType::IpAddress(address));
    }
    let refused = || MtlsError::ServerName(name.to_owned());
    DnsName::try_from(name).map_err(|_| refused())?;
    Ok(SanType::DnsName(name.try_into().map_err(|_| refused())?))
}

/// Returns 126 random bits; the two fixed bits keep the number positive and its length constant.
fn serial_number() -> Result<SerialNumber, MtlsError> {
    let mut bytes = random::<16>()?;
    bytes[0] = (bytes[0] & 0x3f) | 0x40;
    Ok(SerialNumber::from_slice(&bytes))
}

/// Converts Unix milliseconds to a time with the one-second precision of certificates.
fn at(unix_ms: i64) -> Result<OffsetDateTime, MtlsError> {
    if unix_ms < 0 {
        return Err(MtlsError::Time);
    }
    OffsetDateTime::from_unix_timestamp(unix_ms / 1000).map_err(|_| MtlsError::Time)
}

fn millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}
