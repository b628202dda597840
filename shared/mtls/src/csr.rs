//! Parses certificate signing requests. Only the public key counts, and only if the requester proves
//! that it holds the private key. A request for anything else is rejected.

use rcgen::{
    PKCS_ECDSA_P256_SHA256, PKCS_ECDSA_P384_SHA384, PKCS_ED25519, PublicKeyData,
    SignatureAlgorithm, SubjectPublicKeyInfo,
};
use rustls::pki_types::CertificateSigningRequestDer;
use rustls::pki_types::pem::PemObject;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::prelude::FromDer;

use crate::fingerprint::Fingerprint;

/// The maximum size of a request, in bytes. A real one has a few hundred.
pub const MAX_CSR_BYTES: usize = 16 * 1024;

/// Why a certificate signing request was rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum CsrError {
    /// Larger than [`MAX_CSR_BYTES`].
    #[error("the certificate signing request is larger than 16 KiB; send only the request")]
    TooLarge,
    /// Neither PEM nor DER, or with trailing bytes.
    #[error("the certificate signing request can't be read; send one PKCS#10 request, PEM or DER")]
    Unreadable,
    /// Not signed by its own key, so the requester has not proved that it holds the key.
    #[error(
        "the certificate signing request isn't signed by its own key; make the request again on the device"
    )]
    BadSignature,
    /// The key's type is not accepted.
    #[error(
        "the certificate signing request carries a key that isn't accepted; use ECDSA P-256, ECDSA P-384 or Ed25519"
    )]
    UnsupportedKey,
    /// The request asks for names, purposes or anything else besides a certificate for its key.
    #[error(
        "the certificate signing request asks for names or purposes of its own; those are the backend's to give, so send a request without any extension or attribute"
    )]
    AsksForMore,
}

/// A request whose signature was verified, reduced to its public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VerifiedCsr {
    pub(crate) public_key: SubjectPublicKeyInfo,
}

impl VerifiedCsr {
    /// Parses and verifies a PKCS#10 request in PEM or DER form.
    ///
    /// # Errors
    /// [`CsrError`] when the request is too large, unreadable, badly signed, for an unaccepted key, or
    /// asks for more than a certificate for its key.
    pub fn parse(csr: &[u8]) -> Result<Self, CsrError> {
        if csr.len() > MAX_CSR_BYTES {
            return Err(CsrError::TooLarge);
        }
        let der = if csr.trim_ascii_start().starts_with(b"-----BEGIN ") {
            CertificateSigningRequestDer::from_pem_slice(csr).map_err(|_| CsrError::Unreadable)?
        } else {
            CertificateSigningRequestDer::from(csr)
        };
        let (rest, request) =
            X509CertificationRequest::from_der(&der).map_err(|_| CsrError::Unreadable)?;
        if !rest.is_empty() {
            return Err(CsrError::Unreadable);
        }
        // The type is read from the key, not from the signature's algorithm: a P-384 key may sign with
        // SHA-256.
        let spki = request.certification_request_info.subject_pki.raw;
        let public_key =
            SubjectPublicKeyInfo::from_der(spki).map_err(|_| CsrError::UnsupportedKey)?;
        if !is_accepted(public_key.algorithm()) {
            return Err(CsrError::UnsupportedKey);
        }
        // No attribute would be granted, and Orion's devices request none.
        if !request.certification_request_info.attributes().is_empty() {
            return Err(CsrError::AsksForMore);
        }
        request.verify_signature().map_err(|_| CsrError::BadSignature)?;
        Ok(Self { public_key })
    }

    /// Returns the fingerprint of the public key, which an admin compares (in words) before approving.
    pub fn public_key_fingerprint(&self) -> Fingerprint {
        Fingerprint::of_public_key(&self.public_key.subject_public_key_info())
    }
}

/// Returns whether keys for this algorithm are accepted.
pub(crate) fn is_accepted(algorithm: &SignatureAlgorithm) -> bool {
    [&PKCS_ECDSA_P256_SHA256, &PKCS_ECDSA_P384_SHA384, &PKCS_ED25519].contains(&algorithm)
}

#[cfg(test)]
mod tests {
    use rcgen::{CertificateParams, KeyPair};
    use rstest::rstest;

    use super::*;
    use crate::identity::DeviceKey;

    fn csr_der(key: &KeyPair) -> Vec<u8> {
        let csr = CertificateParams::default().serialize_request(key).unwrap();
        csr.der().to_vec()
    }

    #[rstest]
    #[case(&PKCS_ECDSA_P256_SHA256)]
    #[case(&PKCS_ECDSA_P384_SHA384)]
    #[case(&PKCS_ED25519)]
    fn each_accepted_key_type_is_read_from_der(#[case] algorithm: &'static SignatureAlgorithm) {
        let key = KeyPair::generate_for(algorithm).unwrap();
        let verified = VerifiedCsr::parse(&csr_der(&key)).unwrap();
        assert_eq!(
            verified.public_key_fingerprint(),
            Fingerprint::of_public_key(&key.subject_public_key_info())
        );
    }

    #[test]
    fn a_devices_own_request_is_read_from_pem_and_names_its_key() {
        let key = DeviceKey::generate().unwrap();
        let verified = VerifiedCsr::parse(key.csr().unwrap().as_bytes()).unwrap();
        assert_eq!(verified.public_key_fingerprint(), key.fingerprint());
    }

    #[test]
    fn a_request_with_any_one_byte_of_its_signed_part_changed_is_refused() {
        let der = csr_der(&KeyPair::generate().unwrap());
        let (_, request) = X509CertificationRequest::from_der(&der).unwrap();
        let signed = request.certification_request_info.raw;
        let begin = der.windows(signed.len()).position(|window| window == signed).unwrap();
        let whole = VerifiedCsr::parse(&der).unwrap();
        for position in 0..der.len() {
            let mut tampered = der.clone();
            tampered[position] ^= 0x01;
            let parsed = VerifiedCsr::parse(&tampered);
            if (begin..begin + signed.len()).contains(&position) {
                assert!(parsed.is_err(), "byte {position}");
            } else {
                // With other bytes around it, a request that still verifies has the same key.
                assert!(parsed.is_err() || parsed == Ok(whole.clone()), "byte {position}");
            }
        }
    }

    #[test]
    fn a_request_signed_by_another_key_is_refused() {
        let [mine, other] = [(); 2].map(|()| KeyPair::generate().unwrap());
        let mut der = csr_der(&mine);
        let [mine, other] = [&mine, &other].map(|key| key.public_key_raw().to_vec());
        let at = der.windows(mine.len()).position(|window| window == mine).unwrap();
        der[at..at + other.len()].copy_from_slice(&other);
        assert_eq!(VerifiedCsr::parse(&der), Err(CsrError::BadSignature));
    }

    #[test]
    fn every_truncation_and_extension_of_a_request_is_refused() {
        let der = csr_der(&KeyPair::generate().unwrap());
        for length in 0..der.len() {
            assert_eq!(
                VerifiedCsr::parse(&der[..length]),
                Err(CsrError::Unreadable),
                "{length} bytes"
            );
        }
        assert_eq!(VerifiedCsr::parse(&[der.as_slice(), &[0]].concat()), Err(CsrError::Unreadable));
    }

    #[rstest]
    #[case::empty(b"".to_vec(), CsrError::Unreadable)]
    #[case::text(b"hello".to_vec(), CsrError::Unreadable)]
    #[case::nested_sequences([0x30, 0x80].repeat(4000), CsrError::Unreadable)]
    #[case::endless_length(vec![0x30, 0x84, 0xff, 0xff, 0xff, 0xff], CsrError::Unreadable)]
    #[case::noise((0..4096_u32).map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect(), CsrError::Unreadable)]
    #[case::empty_pem(b"-----BEGIN CERTIFICATE REQUEST-----\n-----END CERTIFICATE REQUEST-----\n".to_vec(), CsrError::Unreadable)]
    #[case::other_pem(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n".to_vec(), CsrError::Unreadable)]
    #[case::too_large(vec![0x30; MAX_CSR_BYTES + 1], CsrError::TooLarge)]
    fn garbage_is_refused(#[case] csr: Vec<u8>, #[case] expected: CsrError) {
        assert_eq!(VerifiedCsr::parse(&csr), Err(expected));
    }

    /// A genuine request with an RSA key of 2048 bits, made by OpenSSL.
    const RSA_CSR: &str = "\
-----BEGIN CERTIFICATE REQUEST-----\n\
MIICUTCCATkCAQAwDDEKMAgGA1UEAwwBeDCCASIwDQYJKoZIhvcNAQEBBQADggEP\n\
ADCCAQoCggEBAMW38cEPFWNUzWjJZhNVNO+fBThwlltDE1OUyK8FHzdp9iKwvRRn\n\
xLIzynzBWPir7Gs5HFBRT5wwh304s+/URF7vEOPnNUW++2Tba0fTLOXLFPEGfjaN\n\
4Qg8WvHZyAE+UNA8YDe2avyZINAdCjGsc+UvpKb4DK8Jqsm8qBkQdZ6YRLRDaSgj\n\
ZgeKKSE3JPtWDMviPHX9S0TtA4NDZvy7Qqh9jQbzoIHU4bq286LJNTyUHbIewQ9B\n\
Nzttcp3z/EgxJoJv/6J1WTHZBNOPybuX6mb2aHod8lbJb1H99nPu8Eha6nE1WlRJ\n\
srMiWKH7jeMOzEMHOuCgViOqWg7A0y/8Q3MCAwEAAaAAMA0GCSqGSIb3DQEBCwUA\n\
A4IBAQB4qSwr1fMSc5nztWdYZN0nCMHHmpqvY4URMLDdvsoEJ16RS712gyPA4uKy\n\
AQmXvroCDFgk60wTDCXMamcpZVJJtJ+6hSAvMhJK+WSoW35azZB4kM1qESSqkeSY\n\
amZbmHF2bjPitS9a4FRua/NS/RKPjXSgnX+FE4hqWeeIJI159f5qkjGkMJohlmLJ\n\
jnnte5ttn+xtcwZCSc2XXL6cchywy9Ajrda1sjXk/dB48dpgq79h1Gq//S5qpO/V\n\
FJJvU55UwzOBFcMsu4e4WJ2SAHD9B2HIO9NvvMpiGysHMXAbkkFFZ8DggSLwCTyw\n\
0VDmqfy6YgGd/bROVOFI0HahRUIN\n\
-----END CERTIFICATE REQUEST-----\n";

    #[test]
    fn a_request_with_an_rsa_key_is_refused_though_its_signature_is_good() {
        assert_eq!(VerifiedCsr::parse(RSA_CSR.as_bytes()), Err(CsrError::UnsupportedKey));
    }

    #[test]
    fn a_key_type_that_is_not_accepted_is_refused_before_its_signature_is_looked_at() {
        // P-384's curve identifier ends in 34; 35 names P-521, which is not accepted.
        let key = KeyPair::generate_for(&PKCS_ECDSA_P384_SHA384).unwrap();
        let mut der = csr_der(&key);
        let p384 = [0x2b, 0x81, 0x04, 0x00, 0x22];
        let at = der.windows(p384.len()).position(|window| window == p384).unwrap();
        der[at + 4] = 0x23;
        assert_eq!(VerifiedCsr::parse(&der), Err(CsrError::UnsupportedKey));
    }
}
