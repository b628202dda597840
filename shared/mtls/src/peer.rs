//! The identity of the other end: the device named by a certificate that TLS has verified.

use rustls::pki_types::CertificateDer;

use crate::certificate::Facts;
use crate::error::PeerError;
use crate::fingerprint::Fingerprint;

/// The prefix of the device id in the URI of a device certificate.
pub(crate) const DEVICE_URI_PREFIX: &str = "spiffe://orion/device/";

/// A device as its certificate names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceIdentity {
    /// The device's UUID, lower case with hyphens.
    pub device_id: String,
    /// The certificate's serial number, lower-case hexadecimal, by which it is revoked.
    pub serial_hex: String,
    /// Unix milliseconds. The start of the certificate's validity.
    pub not_before_ms: i64,
    /// Unix milliseconds. The end of the certificate's validity.
    pub not_after_ms: i64,
    /// The fingerprint of the device's public key.
    pub public_key_fingerprint: Fingerprint,
    /// The authority that signed it, by
    /// [`CertificateAuthority::name`](crate::CertificateAuthority::name).
    pub issuer: Fingerprint,
}

impl DeviceIdentity {
    /// Reads the device from a certificate **that TLS has already verified**. This checks the
    /// certificate's contents, not who signed it.
    ///
    /// # Errors
    /// [`PeerError`] when it is not a device's certificate.
    pub fn from_certificate(certificate: &CertificateDer<'_>) -> Result<Self, PeerError> {
        let facts = Facts::read(certificate)?;
        if facts.is_ca {
            return Err(PeerError::IsAuthority);
        }
        if !facts.for_clients {
            return Err(PeerError::WrongPurpose);
        }
        if !facts.has_accepted_key {
            return Err(PeerError::UnsupportedKey);
        }
        let device_id = facts
            .only_uri
            .as_deref()
            .and_then(|uri| uri.strip_prefix(DEVICE_URI_PREFIX))
            .filter(|id| is_uuid(id))
            .ok_or(PeerError::NotADevice)?
            .to_owned();
        Ok(Self {
            device_id,
            serial_hex: facts.serial_hex,
            not_before_ms: facts.not_before_ms,
            not_after_ms: facts.not_after_ms,
            public_key_fingerprint: facts.public_key,
            issuer: facts.issuer,
        })
    }

    /// Returns the device behind a connection, from rustls' `peer_certificates`; `None` for a connection
    /// without a certificate, which may only enrol.
    ///
    /// # Errors
    /// [`PeerError`] when there is a certificate and it is not a device's.
    pub fn from_peer_certificates(
        certificates: Option<&[CertificateDer<'_>]>,
    ) -> Result<Option<Self>, PeerError> {
        certificates.and_then(<[_]>::first).map(Self::from_certificate).transpose()
    }
}

/// Returns whether `text` is a UUID in its canonical form: 8-4-4-4-12 lower-case hexadecimal digits.
pub(crate) fn is_uuid(text: &str) -> bool {
    text.len() == 36
        && text.bytes().enumerate().all(|(at, byte)| match at {
            8 | 13 | 18 | 23 => byte == b'-',
            _ => matches!(byte, b'0'..=b'9' | b'a'..=b'f'),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_canonical_form_is_a_uuid() {
        assert!(is_uuid("019a9c3e-7a10-7cc2-b2d5-6d1f6f3f2b10"));
        for text in [
            "",
            "019A9C3E-7A10-7CC2-B2D5-6D1F6F3F2B10",
            "019a9c3e7a107cc2b2d56d1f6f3f2b10",
            "019a9c3e-7a10-7cc2-b2d5-6d1f6f3f2b1g",
            "019a9c3e-7a10-7cc2-b2d5-6d1f6f3f2b1/",
            "019a9c3e-7a10-7cc2-b2d5-6d1f6f3f2b10/",
            "{19a9c3e-7a10-7cc2-b2d5-6d1f6f3f2b1}",
        ] {
            assert!(!is_uuid(text), "{text}");
        }
    }

    #[test]
    fn no_certificate_is_no_device_and_garbage_is_an_error() {
        assert_eq!(DeviceIdentity::from_peer_certificates(None), Ok(None));
        assert_eq!(DeviceIdentity::from_peer_certificates(Some(&[])), Ok(None));
        assert_eq!(
            DeviceIdentity::from_peer_certificates(Some(&[CertificateDer::from(vec![0x30, 0])])),
            Err(PeerError::Unreadable)
        );
    }
}
