//! The proof that a person signed with a passkey. Only a checked signature makes one.

use orion_domain::Digest;

use super::public_key::CheckedSignature;

/// A signature that was checked: with which passkey, and over what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PasskeyProof {
    passkey: String,
    subject: Digest,
    sign_count: u32,
}

impl PasskeyProof {
    /// Creates the proof of a signature that was checked.
    #[must_use]
    pub fn new(
        passkey: String,
        subject: Digest,
        sign_count: u32,
        _checked: CheckedSignature,
    ) -> Self {
        Self { passkey, subject, sign_count }
    }

    /// Makes a proof without a signature.
    #[cfg(test)]
    pub(crate) const fn of(passkey: String, subject: Digest, sign_count: u32) -> Self {
        Self { passkey, subject, sign_count }
    }

    /// Returns the id of the passkey.
    #[must_use]
    pub fn passkey(&self) -> &str {
        &self.passkey
    }

    /// Returns the digest of what was signed.
    #[must_use]
    pub const fn subject(&self) -> Digest {
        self.subject
    }

    /// Returns how often the passkey signed; zero where it does not count.
    #[must_use]
    pub const fn sign_count(&self) -> u32 {
        self.sign_count
    }

    /// Returns whether a passkey that counts its signatures counted one more. A copy of it would count by itself, and
    /// fall behind.
    #[must_use]
    pub const fn is_ahead(now: u32, before: u32) -> bool {
        now > before || (now == 0 && before == 0)
    }
}
