//! The public key of a passkey, in the form in which it is stored and ring checks signatures.

use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};

/// The exponent of every RSA key that is admitted.
pub const RSA_EXPONENT: [u8; 3] = [1, 0, 1];
/// The lengths of an RSA modulus that are admitted, in bytes.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=512;

/// Shows that a signature was checked: nothing else makes one.
#[derive(Debug, PartialEq, Eq)]
pub struct CheckedSignature(());

/// How a passkey signs. The order is that in which browsers are asked for one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// ECDSA on P-256 with SHA-256.
    Es256,
    /// Ed25519.
    Ed25519,
    /// RSA with PKCS #1 v1.5 and SHA-256.
    Rs256,
}

impl Algorithm {
    /// Every algorithm, the preferred one first.
    pub const ALL: [Self; 3] = [Self::Es256, Self::Ed25519, Self::Rs256];

    /// Returns the number in the COSE registry.
    #[must_use]
    pub const fn number(self) -> i64 {
        match self {
            Self::Es256 => -7,
            Self::Ed25519 => -8,
            Self::Rs256 => -257,
        }
    }

    /// Returns the name that people read.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Es256 => "ES256",
            Self::Ed25519 => "Ed25519",
            Self::Rs256 => "RS256",
        }
    }
}

/// A public key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PublicKey {
    algorithm: Algorithm,
    /// The uncompressed point, the key of Ed25519, or the modulus.
    bytes: Vec<u8>,
}

impl PublicKey {
    /// Returns the key that was stored with these values. None if it is not one.
    #[must_use]
    pub fn stored(number: i64, bytes: Vec<u8>) -> Option<Self> {
        let algorithm = Algorithm::ALL.into_iter().find(|it| it.number() == number)?;
        let fits = match algorithm {
            Algorithm::Es256 => bytes.len() == 65 && bytes.first() == Some(&4),
            Algorithm::Ed25519 => bytes.len() == 32,
            Algorithm::Rs256 => {
                RSA_BYTES.contains(&bytes.len()) && bytes.first().is_some_and(|&it| it != 0)
            }
        };
        fits.then_some(Self { algorithm, bytes })
    }

    /// Returns how it signs.
    #[must_use]
    pub const fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// Returns the bytes to store.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Checks a signature of this key. None if it is not one.
    #[must_use]
    pub fn verify(&self, message: &[u8], signature: &[u8]) -> Option<CheckedSignature> {
        let key = &self.bytes;
        let checked = match self.algorithm {
            Algorithm::Es256 => UnparsedPublicKey::new(&signature::ECDSA_P256_SHA256_ASN1, key)
                .verify(message, signature),
            Algorithm::Ed25519 => {
                UnparsedPublicKey::new(&signature::ED25519, key).verify(message, signature)
            }
            Algorithm::Rs256 => RsaPublicKeyComponents { n: &key[..], e: &RSA_EXPONENT[..] }
                .verify(&signature::RSA_PKCS1_2048_8192_SHA256, message, signature),
        };
        checked.ok().map(|()| CheckedSignature(()))
    }
}
