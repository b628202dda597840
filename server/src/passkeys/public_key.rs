//! Reads the public key of a passkey from COSE.

use super::PasskeyError;
use super::cbor::Reader;
use crate::webauthn::{PublicKey, RSA_EXPONENT};

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

/// Reads a COSE key. It has exactly the entries of its kind.
pub(super) fn read(reader: &mut Reader<'_>) -> Result<PublicKey, PasskeyError> {
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
        (Some(3), Some(-257), Some(Value::Bytes(modulus)), Some(Value::Bytes(exponent)), None)
            if exponent == RSA_EXPONENT =>
        {
            (-257, modulus.to_vec())
        }
        _ => return Err(PasskeyError::Algorithm),
    };
    PublicKey::stored(number, bytes).ok_or(PasskeyError::Algorithm)
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
