//! The device's own key: it is created on the device and never leaves it. Others have only its
//! fingerprint.

use std::fmt;

use rcgen::{CertificateParams, DistinguishedName, KeyPair, PublicKeyData};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};

use crate::csr::is_accepted;
use crate::error::MtlsError;
use crate::fingerprint::Fingerprint;
use crate::secret::Secret;

/// A device's private key. `Debug` shows only the public key's fingerprint.
pub struct DeviceKey(KeyPair);

impl DeviceKey {
    /// Generates an ECDSA P-256 key.
    ///
    /// # Errors
    /// [`MtlsError::Making`] when the operating system returns no random bytes.
    pub fn generate() -> Result<Self, MtlsError> {
        Ok(Self(KeyPair::generate()?))
    }

    /// Parses a key from its PKCS#8 PEM form.
    ///
    /// # Errors
    /// [`MtlsError::UnreadableKey`], which reveals nothing of the input.
    pub fn from_pem(pem: &str) -> Result<Self, MtlsError> {
        let key = KeyPair::from_pem(pem).map_err(|_| MtlsError::UnreadableKey)?;
        if is_accepted(key.algorithm()) { Ok(Self(key)) } else { Err(MtlsError::UnreadableKey) }
    }

    /// Returns the key in PKCS#8 PEM form, for [`secret_file::write`](crate::secret_file::write).
    pub fn to_pem(&self) -> Secret<String> {
        Secret::new(self.0.serialize_pem())
    }

    /// Returns the key in PKCS#8 form, for signing exports of the device's audit.
    pub fn to_pkcs8(&self) -> Secret<Vec<u8>> {
        Secret::new(self.0.serialize_der())
    }

    /// Returns a certificate signing request (PEM) for this key. It requests no names or purposes,
    /// because the authority sets them.
    ///
    /// # Errors
    /// [`MtlsError::Making`] when signing fails.
    pub fn csr(&self) -> Result<String, MtlsError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        Ok(params.serialize_request(&self.0)?.pem()?)
    }

    /// Returns the fingerprint of the public key.
    pub fn fingerprint(&self) -> Fingerprint {
        Fingerprint::of_public_key(&self.0.subject_public_key_info())
    }

    /// Returns the fingerprint of the public key in words, to show on the device while an admin decides.
    pub fn fingerprint_words(&self) -> String {
        self.fingerprint().words()
    }

    pub(crate) fn private_key_der(&self) -> PrivateKeyDer<'static> {
        PrivatePkcs8KeyDer::from(self.0.serialize_der()).into()
    }
}

impl fmt::Debug for DeviceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DeviceKey({})", self.fingerprint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_survives_being_written_and_read() {
        let key = DeviceKey::generate().unwrap();
        let read = DeviceKey::from_pem(key.to_pem().expose()).unwrap();
        assert_eq!(read.fingerprint(), key.fingerprint());
        assert_eq!(read.fingerprint_words(), key.fingerprint().words());
    }

    #[test]
    fn neither_debug_nor_an_error_shows_key_material() {
        let key = DeviceKey::generate().unwrap();
        let pem = key.to_pem();
        assert_eq!(
            format!("{key:?} {pem:?}"),
            format!("DeviceKey({}) Secret(hidden)", key.fingerprint())
        );

        let broken = pem.expose().replacen("M", "!", 1);
        let error = DeviceKey::from_pem(&broken).unwrap_err();
        assert!(matches!(error, MtlsError::UnreadableKey), "{error:?}");
    }
}
