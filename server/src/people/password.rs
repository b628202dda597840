//! Passwords: Argon2id, a few at a time, and the same time for a name that nobody has.

use argon2::Argon2;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _, phc::PasswordHash};
use tokio::sync::Semaphore;

use super::SignInError;
use crate::store::StoreError;

/// The shortest password, in characters.
pub(super) const SHORTEST: usize = 12;
/// The longest password, in bytes.
pub(super) const LONGEST: usize = 1024;
/// How many passwords are hashed at once: each takes 19 MiB and a core, whoever asks.
static HASHING: Semaphore = Semaphore::const_new(4);

/// A hash of no password that anyone knows.
const NOBODY: &str = "$argon2id$v=19$m=19456,t=2,p=1$b3Jpb24tbm9ib2R5LXNhbHQ$IRuyv/2ztdwmvBwQgTwIWu9ShM2XWLqjT7w3U9TKSTM";

/// Hashes a new password.
///
/// # Errors
/// It is too short or too long.
pub async fn hash(password: String) -> Result<String, SignInError> {
    if password.chars().count() < SHORTEST || password.len() > LONGEST {
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

/// Compares with the stored hash, or with one that nothing matches, so that an unknown name takes
/// as long as a wrong password.
pub async fn verify(stored: Option<String>, password: String) -> bool {
    if password.len() > LONGEST {
        return false;
    }
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
    async fn a_password_that_is_too_short_or_too_long_is_refused() {
        assert_eq!(hash("short".to_owned()).await, Err(SignInError::Length));
        assert_eq!(hash("ééééééé".to_owned()).await, Err(SignInError::Length));
        assert_eq!(hash("x".repeat(1025)).await, Err(SignInError::Length));
    }

    #[test]
    fn what_stands_in_for_an_unknown_name_costs_as_much_as_a_real_hash() {
        let real = Argon2::default().hash_password(b"x").unwrap();
        let nobody = PasswordHash::new(NOBODY).unwrap();
        assert_eq!(nobody.params, real.params);
        assert_eq!(nobody.algorithm, real.algorithm);
    }
}
