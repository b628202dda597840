//! People: how they sign in, which sessions and tokens they have, and what ends those. The store keeps
//! accounts and tokens.

mod confirm_password;
mod first_admin;
mod heavy_requests;
mod identity_cache;
mod login_throttle;
mod password;
mod request_counts;
mod sign_in_links;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orion_domain::{Digest, Secret, UserName};
use serde_json::json;

pub use confirm_password::confirm_password;
pub use first_admin::{FirstAdmin, RESET_FILE, is_reset_secret, write_reset};
pub use heavy_requests::{HeavyRequest, HeavyRequests};
pub use identity_cache::{Change, Identity, IdentityCache, StreamEnd, ended};
pub use login_throttle::{Limited, LoginThrottle};
pub use password::{hash, verify};
pub use request_counts::{CountedRequest, Counts};
pub use sign_in_links::{SignInLinks, person_of_link, sign_in_by_link};

use crate::clock::now_ms;
use crate::listen::Source;
use crate::scope::TokenKind;
use crate::store::{NewToken, Store, StoreError, TokenError, TokenRow};

/// Lifetime of a session, used or not, in milliseconds.
const SESSION_MS: i64 = 30 * 24 * 3600 * 1000;
/// Default lifetime of an API token, in milliseconds.
pub const TOKEN_MS: i64 = 90 * 24 * 3600 * 1000;
/// Maximum lifetime of an API token, in milliseconds.
pub const MAX_TOKEN_MS: i64 = 365 * 24 * 3600 * 1000;

/// Why a sign-in is rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    /// The first admin's one-time secret is wrong, or was used.
    #[error(
        "this is not the secret of the first admin, or there is an admin already; at a new backend give `--secret @FILE` with its file `first-admin-secret`, and where you are locked out run `orion-server admin reset` on its machine"
    )]
    Secret,
    /// The reset secret is wrong, was used or has expired.
    #[error(
        "this secret lets nobody back in: it is for another account, was used, or is older than an hour; run `orion-server admin reset` on the backend's machine for a new one"
    )]
    Reset,
    /// The reset secret is for an account that was deleted.
    #[error(
        "this account was deleted, and its name is not given again; run `orion-server admin reset --user NAME` with another name"
    )]
    Deleted,
    /// The link to the page is not valid.
    #[error(
        "this link was used, is older than a quarter of an hour, or its maker has signed out; sign in with a password, or make another link with `orion page`"
    )]
    Link,
    /// The name or the password is wrong.
    #[error("the name or the password is wrong")]
    Wrong,
    /// The password of a person who is signed in is wrong.
    #[error("your password is wrong, so nothing was changed")]
    OldPassword,
    /// Too many wrong passwords were given.
    #[error(transparent)]
    Limited(#[from] Limited),
    /// The password is too short or too long.
    #[error(
        "a password has at least {} characters and at most {} bytes",
        password::MIN_CHARS,
        password::MAX_BYTES
    )]
    Length,
    /// Too many passwords are being checked.
    #[error("the backend checks as many passwords as it can, so nothing was changed")]
    Busy,
    /// The store failed.
    #[error("the database could not be written; nothing was changed")]
    Store(#[from] StoreError),
}

impl From<TokenError> for SignInError {
    fn from(error: TokenError) -> Self {
        match error {
            // The account was disabled while its password was checked.
            TokenError::NoUser => Self::Wrong,
            TokenError::Taken | TokenError::TooMany => Self::Store(StoreError::Conflict),
            TokenError::Store(error) => Self::Store(error),
        }
    }
}

/// A new token, whose secret is returned only once.
#[derive(Debug)]
pub struct Issued {
    /// The token's secret.
    pub token: Secret,
    /// When the token expires, in Unix milliseconds.
    pub expires_at: i64,
}

/// Returns 256 random bits as text.
#[must_use]
pub fn random_secret() -> Secret {
    let bytes: [u8; 32] = rand::random();
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the secret of a new token, and its hash.
fn token_secret() -> (Secret, Digest) {
    let secret = Secret::new(format!("orion_{}", random_secret().expose()));
    let hash = Digest::of(secret.expose().as_bytes());
    (secret, hash)
}

/// Signs a person in.
///
/// # Errors
/// The name or the password is wrong; the error does not say which, and takes as long either way. Too many
/// wrong passwords were given. The store failed.
pub async fn sign_in(
    store: &Store,
    people: &IdentityCache,
    source: &Source,
    user: &UserName,
    password: String,
) -> Result<Issued, SignInError> {
    people.tries.attempt(user, source, now_ms())?;
    let (stored, disabled) = match store.user(user).await {
        Ok(known) => (known.password_hash, known.disabled_at.is_some()),
        Err(StoreError::NotFound) => (None, false),
        Err(error) => return Err(error.into()),
    };
    let right = verify(stored, password).await? && !disabled;
    let kind = if right { "auth.signed_in" } else { "auth.failed" };
    let body = json!({"user": user, "from": source.to_string()});
    store.audit_event(kind, body, now_ms()).await?;
    if !right {
        return Err(SignInError::Wrong);
    }
    people.tries.succeeded(user, source, now_ms());
    issue_session(store, user).await
}

/// Creates a session for a person whose password or one-time secret was checked.
///
/// # Errors
/// The account is disabled, or the store failed.
pub async fn issue_session(store: &Store, user: &UserName) -> Result<Issued, SignInError> {
    let now = now_ms();
    let token = NewToken {
        user: user.clone(),
        hash: Digest::ZERO,
        kind: TokenKind::Session,
        name: String::new(),
        created_by: None,
        expires_at: now + SESSION_MS,
    };
    let (token, row) = issue(store, token, now).await?;
    Ok(Issued { token, expires_at: row.expires_at })
}

/// Generates the secret of a token created at `now` (Unix milliseconds), and stores its hash.
///
/// # Errors
/// See [`TokenError`].
pub async fn issue(
    store: &Store,
    token: NewToken,
    now: i64,
) -> Result<(Secret, TokenRow), TokenError> {
    let (secret, hash) = token_secret();
    let row = store.create_token(NewToken { hash, ..token }, now).await?;
    Ok((secret, row))
}
