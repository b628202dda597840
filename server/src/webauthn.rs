//! What is stored of a passkey (WebAuthn), and what its signature proves. Nothing here reads or writes: `passkeys` makes
//! and checks requests, and the store decides whether a vote counts.

mod proof;
mod public_key;

use orion_domain::{ApprovalId, Digest, PlanId};

pub use self::proof::PasskeyProof;
pub use self::public_key::{Algorithm, CheckedSignature, PublicKey, RSA_EXPONENT};

/// A new passkey, as its authenticator made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewPasskey {
    /// Its id, base64url.
    pub id: String,
    /// Its public key.
    pub key: PublicKey,
    /// The name to which it is bound.
    pub relying_party: String,
    /// How often it signed.
    pub sign_count: u32,
}

/// Returns the digest of what is signed for an approval request: its id, and everything that its card shows.
#[must_use]
pub fn approval_subject(approval: ApprovalId, shown: Digest) -> Digest {
    Digest::of_fields("orion.passkey.approval.v1", &[approval.uuid().as_bytes(), shown.as_bytes()])
}

/// Returns the digest of what is signed for a plan: its id and its hash, which covers every step.
#[must_use]
pub fn plan_subject(plan: PlanId, hash: Digest) -> Digest {
    Digest::of_fields("orion.passkey.plan.v1", &[plan.uuid().as_bytes(), hash.as_bytes()])
}
