//! A device's exported chain, signed with the key that the device enrolled with. The backend's audit has
//! the key's fingerprint. So nobody else can create an export, or remove anything from it.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use orion_domain::Digest;
use orion_domain::audit::AuditHead;
use ring::rand::SystemRandom;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _,
    UnparsedPublicKey,
};
use serde::{Deserialize, Serialize};

use super::{ChainProblem, DeviceChain};
use crate::export::line;

/// The prefix of the signed bytes, so that the signature is valid for nothing else.
const LABEL: &str = "orion.device-audit-export.v1";
/// The bytes before the point in the DER form (SubjectPublicKeyInfo, RFC 5480) of a P-256 key.
const P256: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a,
    0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x03, 0x42, 0x00,
];

/// The last line.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct EndLine {
    end: End,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct End {
    /// The head of the chain.
    head: AuditHead,
    /// Unix milliseconds by the device's clock, when the export was made.
    at: i64,
    /// The device's public key, DER, in base64.
    key: String,
    /// ECDSA with SHA-256, two 32-byte numbers concatenated, in base64.
    signature: String,
}

/// Returns the signed bytes: the digest of the lines before the last, and the time of the export.
fn message(before: &[u8], at: i64) -> Vec<u8> {
    Digest::fields(LABEL, &[Digest::of(before).as_bytes(), &at.to_be_bytes()])
}

/// Why a device's key cannot sign.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DeviceKeyError {
    /// The key is of another type.
    #[error(
        "the device's key is no ECDSA P-256 key, which its audit is signed with; `orion-agent enroll TOKEN --force` makes one"
    )]
    NotP256,
    /// The system returns no random bytes.
    #[error("the audit could not be signed: the system gives no random bytes; try again")]
    NoRandomness,
}

/// Signs exports with the device's key.
pub struct DeviceSigner {
    pair: EcdsaKeyPair,
    random: SystemRandom,
}

impl fmt::Debug for DeviceSigner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceSigner")
            .field("key", &Digest::of(&self.key()))
            .finish_non_exhaustive()
    }
}

impl DeviceSigner {
    /// Loads the device's key, PKCS#8.
    ///
    /// # Errors
    /// [`DeviceKeyError::NotP256`].
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, DeviceKeyError> {
        let random = SystemRandom::new();
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, bytes, &random);
        Ok(Self { pair: pair.map_err(|_| DeviceKeyError::NotP256)?, random })
    }

    /// Returns the public key, DER.
    fn key(&self) -> Vec<u8> {
        [&P256, self.pair.public_key().as_ref()].concat()
    }

    /// Returns the fingerprint of the public key, as the backend's audit stores it.
    #[must_use]
    pub fn fingerprint(&self) -> Digest {
        Digest::of(&self.key())
    }

    /// Exports a chain at `at`, Unix milliseconds.
    ///
    /// # Errors
    /// [`DeviceKeyError::NoRandomness`].
    pub fn export(&self, chain: &DeviceChain, at: i64) -> Result<String, DeviceKeyError> {
        let mut text = chain.to_lines();
        let signature = self
            .pair
            .sign(&self.random, &message(text.as_bytes(), at))
            .map_err(|_| DeviceKeyError::NoRandomness)?;
        let (key, signature) = (STANDARD.encode(self.key()), STANDARD.encode(signature));
        text.push_str(&line(&EndLine { end: End { head: chain.head(), at, key, signature } }));
        Ok(text)
    }
}

/// A device's export, verified with its own key. The backend's audit shows which device has that key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedChain {
    /// The exported chain.
    pub chain: DeviceChain,
    /// Unix milliseconds by the device's clock, when the export was made.
    pub at: i64,
    /// The fingerprint of the signing key.
    pub key: Digest,
}

impl SignedChain {
    /// Verifies an export line by line, and its signature.
    ///
    /// # Errors
    /// [`ChainProblem`], with the position.
    pub fn read(text: &[u8]) -> Result<Self, ChainProblem> {
        let whole = text.strip_suffix(b"\n").unwrap_or(text);
        let at = whole.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let (before, last) = text.split_at(at);
        if last.starts_with(b"{\"head\":") {
            let seq = DeviceChain::read(before)?.head().seq;
            return Err(ChainProblem::Unsigned { seq });
        }
        if !last.starts_with(b"{\"end\":") {
            let seq = DeviceChain::read(text)?.head().seq;
            return Err(ChainProblem::Cut { seq });
        }
        let chain = DeviceChain::read(before)?;
        let seq = chain.head().seq;
        let end = serde_json::from_slice::<EndLine>(last).ok();
        // Only the canonical form of this line is accepted, because no signature covers it.
        let end = end.filter(|end| line(end).as_bytes() == last && end.end.head == chain.head());
        let Some(EndLine { end: End { head: _, at, key, signature } }) = end else {
            return Err(ChainProblem::Cut { seq });
        };
        let fits = || {
            let (key, signature) = (STANDARD.decode(key).ok()?, STANDARD.decode(signature).ok()?);
            let point = key.strip_prefix(&P256)?;
            let known = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
            known.verify(&message(before, at), &signature).ok()?;
            Some(Digest::of(&key))
        };
        let key = fits().ok_or(ChainProblem::Signature { seq })?;
        Ok(Self { chain, at, key })
    }
}
