//! The public key of a passkey: read from COSE, kept in the form in which ring checks signatures.

use ring::signature::{self, RsaPublicKeyComponents, UnparsedPublicKey};

use super::PasskeyError;
use super::cbor::Reader;

/// The exponent of every RSA key that is admitted.
const RSA_EXPONENT: [u8; 3] = [1, 0, 1];
/// The lengths of an RSA modulus that are admitted, in bytes.
const RSA_BYTES: std::ops::RangeInclusive<usize> = 256..=512;

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

/// The entries of a COSE key.
#[derive(Debug, Default)]
struct Entries<'a> {
    kind: Option<i64>,
    algorithm: Option<i64>,
    /// The curve, or the modulus of RSA.
    minus_1: Option<Value<'a>>,
    minus_2: Option<Value<'a>>,
    minus_3: Option<Value<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Value<'a> {
    Number(i64),
    Bytes(&'a [u8]),
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

    /// Reads a COSE key. It has exactly the entries of its kind.
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Self, PasskeyError> {
        let Entries { kind, algorithm, minus_1, minus_2, minus_3 } = Entries::read(reader)?;
        let (number, bytes) = match (kind, algorithm, minus_1, minus_2, minus_3) {
            (
                Some(2),
                Some(-7),
                Some(Value::Number(1)),
                Some(Value::Bytes(x)),
                Some(Value::Bytes(y)),
            ) if x.len() == 32 && y.len() == 32 => (-7, [&[4], x, y].concat()),
            (Some(1), Some(-8), Some(Value::Number(6)), Some(Value::Bytes(x)), None) => {
                (-8, x.to_vec())
            }
            (
                Some(3),
                Some(-257),
                Some(Value::Bytes(modulus)),
                Some(Value::Bytes(exponent)),
                None,
            ) if exponent == RSA_EXPONENT => (-257, modulus.to_vec()),
            _ => return Err(PasskeyError::Algorithm),
        };
        Self::stored(number, bytes).ok_or(PasskeyError::Algorithm)
    }

    /// Checks a signature of this key.
    pub(super) fn verify(&self, message: &[u8], signature: &[u8]) -> Result<(), PasskeyError> {
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
        checked.map_err(|_| PasskeyError::Signature)
    }
}

impl<'a> Entries<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, PasskeyError> {
        let mut entries = Self::default();
        let malformed = || PasskeyError::Malformed("its public key");
        for _ in 0..reader.map()? {
            let known = match reader.integer()? {
                1 => entries.kind.replace(reader.integer()?).is_some(),
                3 => entries.algorithm.replace(reader.integer()?).is_some(),
                -1 => entries.minus_1.replace(Value::read(reader)?).is_some(),
                -2 => entries.minus_2.replace(Value::read(reader)?).is_some(),
                -3 => entries.minus_3.replace(Value::read(reader)?).is_some(),
                _ => return Err(malformed()),
            };
            if known {
                return Err(malformed());
            }
        }
        Ok(entries)
    }
}

impl<'a> Value<'a> {
    fn read(reader: &mut Reader<'a>) -> Result<Self, PasskeyError> {
        let mut bytes = *reader;
        if let Ok(found) = bytes.bytes() {
            *reader = bytes;
            return Ok(Self::Bytes(found));
        }
        reader.integer().map(Self::Number)
    }
}
