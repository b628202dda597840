//! `CreateToken`: a new API token.

use std::collections::BTreeSet;

use orion_domain::{Digest, ErrorCode};
use orion_wire::v1;
use tonic::Status;

use super::{AuthApi, to_proto, token_owner};
use crate::clock::now_ms;
use crate::people::{self, MAX_TOKEN_MS, TOKEN_MS};
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::scope::{Scope, TokenKind};
use crate::store::{NewToken, StoreError, TokenError};

/// Maximum length of a token's name, in bytes.
const MAX_NAME_CHARS: usize = 63;

/// Creates an API token for the caller, or as an admin for another person. Its secret is returned only once.
/// A token never has a scope that its person's role cannot have; it is valid for 90 days unless
/// `valid_seconds` says otherwise, and for 365 at most.
pub(super) async fn create_token(
    api: &AuthApi,
    request: Signed<v1::CreateTokenRequest>,
) -> Result<v1::CreateTokenResponse, Status> {
    let Signed { identity: by, message } = request;
    let v1::CreateTokenRequest { name, scopes, valid_seconds, user } = message;
    if !is_name(&name) {
        return Err(status::invalid(format!(
            "a token's name has 1 to {MAX_NAME_CHARS} letters, digits, `-`, `_` and `.`, and begins with a letter"
        )));
    }
    let user = token_owner::of(&by.caller, &user)?;
    let scopes = scopes.into_iter().map(scope).collect::<Result<BTreeSet<_>, _>>()?;
    if scopes.is_empty() {
        return Err(status::hinted(
            ErrorCode::InvalidArgument,
            "a token needs a scope",
            "name read, call, chat or admin",
        ));
    }
    let role = if user == by.caller.user {
        by.caller.role
    } else {
        let found = api.store.user(&user).await;
        found.map_err(|error| status::token(no_user(error)))?.role
    };
    if let Some(scope) = scopes.iter().find(|scope| role < scope.least_role()) {
        let message = format!(
            "a token never holds more than its person: {user} is {role}, and the scope {scope} needs the role {}",
            scope.least_role()
        );
        let hint = format!("leave out the scope {scope}");
        return Err(status::hinted(ErrorCode::PermissionDenied, message, hint));
    }
    let valid_ms = i64::try_from(valid_seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
    let valid_ms = if valid_ms == 0 { TOKEN_MS } else { valid_ms };
    if valid_ms > MAX_TOKEN_MS {
        return Err(status::hinted(
            ErrorCode::InvalidArgument,
            "a token is good for at most 365 days",
            "write --expires 365d, or less",
        ));
    }
    let (is_own, now) = (user == by.caller.user, now_ms());
    let new = NewToken {
        user,
        hash: Digest::ZERO,
        kind: TokenKind::Api(scopes),
        name,
        created_by: (!is_own).then(|| by.caller.user.clone()),
        expires_at: now + valid_ms,
    };
    let (secret, row) = people::issue(&api.store, new, now).await.map_err(status::token)?;
    let secret = secret.expose().to_owned();
    Ok(v1::CreateTokenResponse { secret, token: Some(to_proto::token(row)) })
}

/// Returns why a token cannot be made for a person who was not found.
fn no_user(error: StoreError) -> TokenError {
    match error {
        StoreError::NotFound => TokenError::NoUser,
        StoreError::Conflict
        | StoreError::Ambiguous
        | StoreError::KeyInUse
        | StoreError::Full
        | StoreError::Unavailable
        | StoreError::OtherVersion
        | StoreError::Corrupt => TokenError::Store(error),
    }
}

fn is_name(name: &str) -> bool {
    name.len() <= MAX_NAME_CHARS
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"-_.".contains(&b))
}

fn scope(number: i32) -> Result<Scope, Status> {
    match v1::Scope::try_from(number) {
        Ok(v1::Scope::Read) => Ok(Scope::Read),
        Ok(v1::Scope::Call) => Ok(Scope::Call),
        Ok(v1::Scope::Chat) => Ok(Scope::Chat),
        Ok(v1::Scope::Admin) => Ok(Scope::Admin),
        Ok(v1::Scope::Unspecified) | Err(_) => Err(status::hinted(
            ErrorCode::InvalidArgument,
            "this version does not know this scope",
            "name read, call, chat or admin",
        )),
    }
}
