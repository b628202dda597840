//! Passkeys (WebAuthn): how a person registers one, and how an approval is signed with it. What is checked here is the
//! signature and what it covers; whether the vote counts is decided where every vote is, in the store.

mod authenticator_data;
mod cbor;
mod challenges;
mod client_data;
mod public_key;
mod registration;
mod relying_party;
#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orion_domain::{Digest, UserName};
use ring::digest::{SHA256, digest};
use serde_json::json;

pub use self::challenges::CHALLENGE_MS;

use self::authenticator_data::{AuthenticatorData, MAX_CREDENTIAL_ID};
use self::challenges::{Challenges, Purpose};
use self::client_data::Ceremony;
use self::relying_party::RelyingParty;
use crate::people::Identity;
use crate::store::{PasskeyRow, Store, StoreError};
use crate::webauthn::{CheckedSignature, PasskeyProof};

/// The most bytes of an authenticator's data, of a new passkey or of a signature.
const MAX_BYTES: usize = 8 * 1024;

/// Why a passkey was not registered, or a signature does not count.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PasskeyError {
    /// The page has no address at which browsers offer passkeys.
    #[error("passkeys need a page with a name and TLS, and this backend's page is at {0}")]
    Unavailable(String),
    /// The challenge is not open for this session.
    #[error(
        "what was signed is not open in this session: it was answered, is older than two minutes, or is of another session or person"
    )]
    Challenge,
    /// A part of the answer cannot be read.
    #[error("the passkey's answer cannot be read: {0} is not as it must be")]
    Malformed(&'static str),
    /// The answer is to another request.
    #[error("the passkey answered another kind of request")]
    Ceremony,
    /// The answer comes from a page at another address.
    #[error("the passkey's answer comes from another page than {0}")]
    Origin(String),
    /// The passkey is of another site.
    #[error("the passkey is of another site")]
    RelyingParty,
    /// Nobody touched the authenticator.
    #[error("nobody was at the authenticator")]
    NotPresent,
    /// The authenticator did not check who is there.
    #[error("the authenticator did not check a PIN, a finger or a face")]
    NotVerified,
    /// The browser sent an attestation, which was not asked for.
    #[error("the authenticator sent an attestation, which was not asked for")]
    Attestation,
    /// The passkey signs in another way.
    #[error("the passkey signs in a way that this backend does not know: ES256, Ed25519 or RS256")]
    Algorithm,
    /// The person has no such passkey.
    #[error("you have no such passkey: it was removed, or is of another account")]
    Unknown,
    /// The signature is wrong.
    #[error("the passkey's signature is wrong")]
    Signature,
    /// The counter did not advance.
    #[error(
        "the passkey counted fewer signatures than before, so there may be a copy of it; remove it and register another"
    )]
    Counter,
    /// The store failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A signature, as a browser returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assertion {
    /// The id of the passkey.
    pub credential_id: Vec<u8>,
    /// The browser's data, JSON.
    pub client_data: Vec<u8>,
    /// The authenticator's data.
    pub authenticator_data: Vec<u8>,
    /// The signature over both.
    pub signature: Vec<u8>,
}

/// What a browser is asked to do, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// What is signed.
    pub challenge: Digest,
    /// The name to which the passkey is bound.
    pub relying_party: String,
    /// The origin of the only page that may answer.
    pub origin: String,
    /// The passkeys of the person, base64url.
    pub passkeys: Vec<String>,
}

/// The page's address, and the challenges that are open.
#[derive(Debug)]
pub struct Passkeys {
    /// The page. The error is its address, where browsers offer no passkeys.
    relying_party: Result<RelyingParty, String>,
    challenges: Challenges,
}

impl Passkeys {
    /// Returns the passkeys of a backend whose page is at this address; `listener` is where it listens.
    #[must_use]
    pub fn new(page: Option<&str>, listener: &str) -> Self {
        let found = match page {
            Some(page) => RelyingParty::at(page),
            None => RelyingParty::of_listener(listener),
        };
        let address = page.unwrap_or(listener).trim_end_matches('/').to_owned();
        Self { relying_party: found.ok_or(address), challenges: Challenges::default() }
    }

    /// Returns the page's address, without a slash at its end.
    #[must_use]
    pub fn page(&self) -> &str {
        match &self.relying_party {
            Ok(relying_party) => &relying_party.origin,
            Err(address) => address,
        }
    }

    /// Returns the origin of the page. None where browsers offer no passkeys.
    #[must_use]
    pub fn origin(&self) -> Option<&str> {
        self.relying_party.as_ref().ok().map(|it| it.origin.as_str())
    }

    fn relying_party(&self) -> Result<&RelyingParty, PasskeyError> {
        self.relying_party.as_ref().map_err(|address| PasskeyError::Unavailable(address.clone()))
    }

    /// Makes the request for a signature of what has this digest.
    ///
    /// # Errors
    /// The person has no passkey, the page has no name, or the database cannot be read.
    pub async fn start_approval(
        &self,
        store: &Store,
        who: &Identity,
        subject: Digest,
        now: i64,
    ) -> Result<Request, PasskeyError> {
        let request = self.request(store, who, Purpose::Approval(subject), now).await?;
        if request.passkeys.is_empty() { Err(PasskeyError::Unknown) } else { Ok(request) }
    }

    async fn request(
        &self,
        store: &Store,
        who: &Identity,
        purpose: Purpose,
        now: i64,
    ) -> Result<Request, PasskeyError> {
        let relying_party = self.relying_party()?;
        let known = store.passkeys(&who.caller.user).await?;
        Ok(Request {
            challenge: self.challenges.make(who, purpose, now),
            relying_party: relying_party.id.clone(),
            origin: relying_party.origin.clone(),
            passkeys: known.into_iter().map(|it| it.id).collect(),
        })
    }

    /// Checks a person's signature. It covers what its challenge was made for, once. A refused one is recorded.
    ///
    /// # Errors
    /// See [`PasskeyError`].
    pub async fn check(
        &self,
        store: &Store,
        who: &Identity,
        assertion: &Assertion,
        now: i64,
    ) -> Result<PasskeyProof, PasskeyError> {
        let checked = self.signed(store, who, assertion, now).await;
        if let Err(refused) = &checked
            && !matches!(refused, PasskeyError::Store(_))
        {
            record(store, who, refused, now).await?;
        }
        checked
    }

    async fn signed(
        &self,
        store: &Store,
        who: &Identity,
        assertion: &Assertion,
        now: i64,
    ) -> Result<PasskeyProof, PasskeyError> {
        let relying_party = self.relying_party()?;
        let Assertion { credential_id, client_data, authenticator_data, signature } = assertion;
        let challenge =
            client_data::challenge(client_data, Ceremony::Approval, &relying_party.origin)?;
        // From here on the challenge is used up, whatever the rest of the answer is.
        let Some(Purpose::Approval(subject)) = self.challenges.take(who, challenge, now) else {
            return Err(PasskeyError::Challenge);
        };
        if credential_id.len() > MAX_CREDENTIAL_ID {
            return Err(PasskeyError::Unknown);
        }
        let id = URL_SAFE_NO_PAD.encode(credential_id);
        let passkey = store.passkey(&who.caller.user, &id).await?.ok_or(PasskeyError::Unknown)?;
        if passkey.relying_party != relying_party.id {
            return Err(PasskeyError::RelyingParty);
        }
        let (sign_count, checked) =
            verified(relying_party, &passkey, authenticator_data, client_data, signature)?;
        Ok(PasskeyProof::new(id, subject, sign_count, checked))
    }
}

/// Records that what a browser returned was refused, and why.
async fn record(
    store: &Store,
    who: &Identity,
    refused: &PasskeyError,
    now: i64,
) -> Result<(), StoreError> {
    let body = json!({"user": who.caller.user, "because": refused.to_string()});
    store.audit_event("passkey.refused", body, now).await.map(drop)
}

/// Checks what a passkey signed, and returns how often it signed.
fn verified(
    relying_party: &RelyingParty,
    passkey: &PasskeyRow,
    authenticator_data: &[u8],
    client_data: &[u8],
    signature: &[u8],
) -> Result<(u32, CheckedSignature), PasskeyError> {
    if authenticator_data.len() > MAX_BYTES || signature.len() > MAX_BYTES {
        return Err(PasskeyError::Malformed("its length"));
    }
    let data = AuthenticatorData::read(authenticator_data, relying_party.hash().as_bytes())?;
    if data.credential.is_some() {
        return Err(PasskeyError::Malformed("its flags"));
    }
    let message = [authenticator_data, digest(&SHA256, client_data).as_ref()].concat();
    let checked = passkey.key.verify(&message, signature).ok_or(PasskeyError::Signature)?;
    if PasskeyProof::is_ahead(data.sign_count, passkey.sign_count) {
        Ok((data.sign_count, checked))
    } else {
        Err(PasskeyError::Counter)
    }
}

/// Returns the opaque id of a person for authenticators, which show and keep it.
fn user_handle(user: &UserName) -> Digest {
    Digest::of_fields("orion.passkey.user.v1", &[user.as_str().as_bytes()])
}
