//! SHA-256 over length-prefixed fields, so that no two lists of fields give the same input.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// A SHA-256 digest, 32 bytes; hex as text.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Digest([u8; 32]);

/// A text that is not 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a digest is 64 hexadecimal digits")]
pub struct NotADigest;

/// Computes the digest of content that comes in parts.
#[derive(Debug, Clone, Default)]
pub struct Hasher(Sha256);

impl Hasher {
    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of everything that was added.
    #[must_use]
    pub fn finish(self) -> Digest {
        Digest(self.0.finalize().into())
    }
}

impl Digest {
    /// The first link of a chain of digests.
    pub const ZERO: Self = Self([0; 32]);

    /// Returns the digest of one byte string.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// Returns the digest of a labelled list of fields. Each field is preceded by its length in bytes (8
    /// bytes, big endian), so that no two different lists give the same input.
    #[must_use]
    pub fn of_fields(label: &str, fields: &[&[u8]]) -> Self {
        let mut hasher = Sha256::new();
        for field in std::iter::once(&label.as_bytes()).chain(fields) {
            hasher.update((field.len() as u64).to_be_bytes());
            hasher.update(field);
        }
        Self(hasher.finalize().into())
    }

    /// Returns the bytes that [`Self::of_fields`] hashes.
    #[must_use]
    pub fn fields(label: &str, fields: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for field in std::iter::once(&label.as_bytes()).chain(fields) {
            bytes.extend((field.len() as u64).to_be_bytes());
            bytes.extend_from_slice(field);
        }
        bytes
    }

    /// Returns the bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// Converts 32 bytes to a digest; any other length is `None`.
    #[must_use]
    pub fn from_slice(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Digest {
    type Err = NotADigest;

    fn from_str(text: &str) -> Result<Self, NotADigest> {
        let text = text.as_bytes();
        if text.len() != 64 || !text.iter().all(u8::is_ascii_hexdigit) {
            return Err(NotADigest);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| NotADigest)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NotADigest)?;
        }
        Ok(Self(bytes))
    }
}

impl TryFrom<String> for Digest {
    type Error = NotADigest;

    fn try_from(text: String) -> Result<Self, NotADigest> {
        text.parse()
    }
}

impl From<Digest> for String {
    fn from(digest: Digest) -> Self {
        digest.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moving_a_byte_between_fields_changes_the_digest() {
        let one = Digest::of_fields("x", &[b"ab", b"c"]);
        let two = Digest::of_fields("x", &[b"a", b"bc"]);
        assert_ne!(one, two);
        assert_ne!(one, Digest::of_fields("y", &[b"ab", b"c"]));
        assert_eq!(one, Digest::of(&Digest::fields("x", &[b"ab", b"c"])));
    }

    #[test]
    fn text_and_back() {
        let digest = Digest::of(b"orion");
        assert_eq!(digest.to_string().parse(), Ok(digest));
        assert_eq!(format!("{digest:?}"), digest.to_string());
        assert_eq!(serde_json::to_value(digest).unwrap(), digest.to_string());
        for bad in
            ["zz".to_owned(), "0".repeat(63), "0".repeat(65), "+f".repeat(32), "é".repeat(32)]
        {
            assert_eq!(bad.parse::<Digest>(), Err(NotADigest), "{bad}");
        }
    }

    #[test]
    fn bytes_and_back() {
        let digest = Digest::of(b"orion");
        assert_eq!(Digest::from_slice(digest.as_bytes()), Some(digest));
        assert_eq!(Digest::from_slice(&digest.as_bytes()[1..]), None);
        assert_eq!(Digest::from_slice(&[0; 32]), Some(Digest::ZERO));
    }
}
