//! Accounts, passwords and tokens.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use orion_domain::{Digest, Secret, UserName};
use orion_mtls::secret_file;
use serde_json::json;
use subtle::ConstantTimeEq as _;
use tokio::sync::Semaphore;

use crate::clock::now_ms;
use crate::store::{Store, StoreError};

/// How long a sign-in is good, in milliseconds.
const SESSION_MS: i64 = 30 * 24 * 3600 * 1000;
/// How many passwords are hashed at once: each takes 19 MiB and a core, whoever asks.
static HASHING: Semaphore = Semaphore::const_new(4);
/// The shortest password.
const SHORTEST: usize = 12;

/// Why somebody is not let in.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SignInError {
    /// The first-admin secret is wrong, or was used.
    #[error(
        "this secret is not the one that the backend wrote to a file at its first start, or there is an admin already; sign in with `orion login`"
    )]
    Secret,
    /// Name or password.
    #[error("the name or the password is wrong")]
    Wrong,
    /// The password is too short.
    #[error("a password has at least {SHORTEST} characters and at most 1024")]
    Length,
    /// The record cannot be kept.
    #[error("the record could not be written; nothing was changed")]
    Store(#[from] StoreError),
}

/// A token, shown once.
#[derive(Debug)]
pub struct Issued {
    /// The token.
    pub token: Secret,
    /// Until when it is good, Unix milliseconds.
    pub expires_at: i64,
}

/// 256 random bits as text.
#[must_use]
pub fn random_secret() -> Secret {
    let bytes: [u8; 32] = rand::random();
    Secret::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// The one-time secret for the first admin, while there is none.
#[derive(Debug)]
pub struct FirstAdmin {
    file: PathBuf,
    secret: Mutex<Option<Secret>>,
}

impl FirstAdmin {
    /// Makes the secret and writes it to a file that only the owner can read, unless there is an
    /// admin already.
    ///
    /// # Errors
    /// The file or the record cannot be written.
    pub async fn prepare(store: &Store, data_dir: &Path) -> anyhow::Result<Self> {
        let file = data_dir.join("first-admin-secret");
        let secret = if store.has_users().await? {
            None
        } else {
            let secret = random_secret();
            secret_file::write(&file, secret.expose().as_bytes())?;
            Some(secret)
        };
        Ok(Self { file, secret: Mutex::new(secret) })
    }

    /// Where the secret stands, while there is one.
    #[must_use]
    pub fn waiting(&self) -> Option<&Path> {
        let secret = self.secret.lock().unwrap_or_else(PoisonError::into_inner);
        secret.as_ref().map(|_| self.file.as_path())
    }

    fn matches(&self, given: &str) -> bool {
        let secret = self.secret.lock().unwrap_or_else(PoisonError::into_inner);
        secret
            .as_ref()
            .is_some_and(|secret| bool::from(secret.expose().as_bytes().ct_eq(given.as_bytes())))
    }

    fn spend(&self) {
        *self.secret.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if let Err(error) = std::fs::remove_file(&self.file) {
            tracing::warn!(%error, "the used first-admin secret could not be removed; it is good for nothing any more");
        }
    }

    /// Makes the first admin and signs them in.
    ///
    /// # Errors
    /// The secret is wrong, or there is an admin.
    pub async fn create(
        &self,
        store: &Store,
        secret: &str,
        user: &UserName,
        password: Option<String>,
    ) -> Result<Issued, SignInError> {
        if !self.matches(secret) {
            store.audit_event("auth.failed", json!({"first_admin": true}), now_ms()).await?;
            return Err(SignInError::Secret);
        }
        let hash = match password {
            Some(password) => Some(hash(password).await?),
            None => None,
        };
        match store.create_first_admin(user, hash, now_ms()).await {
            Ok(()) => {}
            Err(StoreError::Conflict) => return Err(SignInError::Secret),
            Err(error) => return Err(error.into()),
        }
        self.spend();
        issue(store, user).await
    }
}

/// Signs a person in.
///
/// # Errors
/// Name or password is wrong; which of them is not said, and takes as long either way.
pub async fn sign_in(
    store: &Store,
    user: &UserName,
    password: String,
) -> Result<Issued, SignInError> {
    let known = match store.user(user).await {
        Ok(known) => known.password_hash,
        Err(StoreError::NotFound) => None,
        Err(error) => return Err(error.into()),
    };
    let right = verify(known, password).await;
    let kind = if right { "auth.signed_in" } else { "auth.failed" };
    store.audit_event(kind, json!({"user": user}), now_ms()).await?;
    if !right {
        return Err(SignInError::Wrong);
    }
    issue(store, user).await
}

async fn issue(store: &Store, user: &UserName) -> Result<Issued, SignInError> {
    let token = Secret::new(format!("orion_{}", random_secret().expose()));
    let now = now_ms();
    let expires_at = now + SESSION_MS;
    store
        .create_token(user, Digest::of(token.expose().as_bytes()), "session", expires_at, now)
        .await?;
    Ok(Issued { token, expires_at })
}

async fn hash(password: String) -> Result<String, SignInError> {
    if !(SHORTEST..=1024).contains(&password.len()) {
        return Err(SignInError::Length);
    }
    let _place = HASHING.acquire().await;
    tokio::task::spawn_blocking(move || {
        Argon2::default().hash_password(password.as_bytes()).map(|hash| hash.to_string())
    })
    .await
    .ok()
    .and_then(Result::ok)
    .ok_or(SignInError::Store(StoreError::Unavailable))
}

/// A hash of no password that anyone knows.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$b3Jpb24tbm9ib2R5LXNhbHQ$IRuyv/2ztdwmvBwQgTwIWu9ShM2XWLqjT7w3U9TKSTM";

/// Compares with the stored hash, or with one that nothing matches, so that an unknown name takes
/// as long as a wrong password.
async fn verify(stored: Option<String>, password: String) -> bool {
    let known = stored.is_some();
    let _place = HASHING.acquire().await;
    let matches = tokio::task::spawn_blocking(move || {
        let stored = stored.as_deref().unwrap_or(NOBODY);
        PasswordHash::new(stored)
            .is_ok_and(|hash| Argon2::default().verify_password(password.as_bytes(), &hash).is_ok())
    })
    .await
    .unwrap_or(false);
    known && matches
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_unknown_name_is_checked_against_a_real_hash_and_never_let_in() {
        assert!(!verify(None, "whatever it is".to_owned()).await);
        let stored = hash("correct horse battery".to_owned()).await.unwrap();
        assert!(stored.starts_with("$argon2id$"), "{stored}");
        assert!(verify(Some(stored.clone()), "correct horse battery".to_owned()).await);
        assert!(!verify(Some(stored), "correct horse batteri".to_owned()).await);
    }

    #[tokio::test]
    async fn a_short_password_is_refused() {
        assert_eq!(hash("short".to_owned()).await, Err(SignInError::Length));
    }

    #[test]
    fn what_stands_in_for_an_unknown_name_costs_as_much_as_a_real_hash() {
        let real = Argon2::default().hash_password(b"x").unwrap();
        let nobody = PasswordHash::new(NOBODY).unwrap();
        assert_eq!(nobody.params, real.params);
        assert_eq!(nobody.algorithm, real.algorithm);
    }
}
