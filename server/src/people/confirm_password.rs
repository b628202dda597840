//! Asks a person who is signed in for the password again, because a session's holder need not be its person.

use orion_domain::UserName;
use serde_json::json;

use super::{IdentityCache, SignInError, verify};
use crate::clock::now_ms;
use crate::listen::Source;
use crate::store::{Store, StoreError};

/// Checks the password of a person who is signed in. Returns `false` where the account has none. A wrong password counts
/// as a failed sign-in, and the audit row says for what it was asked.
///
/// # Errors
/// The password is wrong, too many were, or the store failed.
pub async fn confirm_password(
    store: &Store,
    people: &IdentityCache,
    source: &Source,
    user: &UserName,
    password: String,
    purpose: &'static str,
) -> Result<bool, SignInError> {
    let row = match store.user(user).await {
        Ok(row) => row,
        Err(StoreError::NotFound) => return Err(SignInError::Wrong),
        Err(error) => return Err(error.into()),
    };
    let Some(stored) = row.password_hash else { return Ok(false) };
    people.tries.attempt(user, source, now_ms())?;
    if !verify(Some(stored), password).await? {
        let body = json!({"user": user, "from": source.to_string(), "for": purpose});
        store.audit_event("auth.failed", body, now_ms()).await?;
        return Err(SignInError::OldPassword);
    }
    people.tries.succeeded(user, source, now_ms());
    Ok(true)
}
