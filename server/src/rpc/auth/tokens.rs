//! API tokens and sessions: listed without their secrets, created and revoked.

use std::collections::BTreeSet;

use orion_domain::{Digest, ErrorCode, Role, UserName};
use orion_wire::v1;
use tonic::Status;

use crate::clock::now_ms;
use crate::people::{self, Change, Identity, MAX_TOKEN_MS, TOKEN_MS};
use crate::rpc::{Api, status};
use crate::scope::{Scope, TokenKind};
use crate::store::{NewToken, StoreError, TokenFilter, TokenRow};

/// Maximum length of a token's name, in bytes.
const MAX_NAME_CHARS: usize = 63;

impl Api {
    /// Lists the caller's own tokens, or for an admin another person's or all.
    pub(super) async fn tokens(
        &self,
        by: &Identity,
        request: v1::ListTokensRequest,
    ) -> Result<Vec<v1::Token>, Status> {
        let v1::ListTokensRequest { user, all, sessions } = request;
        let user = if all { None } else { Some(self.whose(by, &user).await?) };
        if all && by.caller.role != Role::Admin {
            return Err(others(by));
        }
        let rows = self.0.store.tokens(TokenFilter { user, sessions }).await;
        Ok(rows.map_err(status::store)?.into_iter().map(token).collect())
    }

    /// Creates an API token, whose secret is returned only once.
    pub(super) async fn new_token(
        &self,
        by: &Identity,
        request: v1::CreateTokenRequest,
    ) -> Result<v1::CreateTokenResponse, Status> {
        let v1::CreateTokenRequest { name, scopes, valid_seconds, user } = request;
        if !is_name(&name) {
            return Err(status::invalid(format!(
                "a token's name has 1 to {MAX_NAME_CHARS} letters, digits, `-`, `_` and `.`, and begins with a letter"
            )));
        }
        let user = self.whose(by, &user).await?;
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
            self.0
                .store
                .user(&user)
                .await
                .map_err(|error| match error {
                    StoreError::NotFound => status::token(crate::store::TokenError::NoUser),
                    StoreError::Conflict
                    | StoreError::KeyInUse
                    | StoreError::Full
                    | StoreError::Unavailable
                    | StoreError::OtherVersion
                    | StoreError::Corrupt => status::store(error),
                })?
                .role
        };
        if let Some(scope) = scopes.iter().find(|scope| role < scope.least_role()) {
            return Err(status::denied(format!(
                "a token never holds more than its person: {user} is {role}, and the scope {scope} needs the role {}",
                scope.least_role()
            )));
        }
        let valid_ms = i64::try_from(valid_seconds.saturating_mul(1000)).unwrap_or(i64::MAX);
        let valid_ms = if valid_ms == 0 { TOKEN_MS } else { valid_ms };
        if valid_ms > MAX_TOKEN_MS {
            return Err(status::invalid("a token is good for at most 365 days"));
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
        let (secret, row) = people::issue(&self.0.store, new, now).await.map_err(status::token)?;
        let secret = secret.expose().to_owned();
        Ok(v1::CreateTokenResponse { secret, token: Some(token(row)) })
    }

    /// Revokes a token or a session.
    pub(super) async fn revoke(
        &self,
        by: &Identity,
        request: v1::RevokeTokenRequest,
    ) -> Result<v1::Token, Status> {
        let v1::RevokeTokenRequest { token: asked, user } = request;
        let is_admin = by.caller.role == Role::Admin;
        let whose = match user.as_str() {
            "" if is_admin => None,
            user => Some(self.whose(by, user).await?),
        };
        let revoked =
            self.0.store.revoke_token(&asked, whose.as_ref(), &by.caller.user, now_ms()).await;
        let row = revoked.map_err(|error| match error {
            StoreError::NotFound => status::token_not_found(),
            StoreError::Conflict => status::hinted(
                ErrorCode::InvalidArgument,
                "several tokens have this name, or an id that begins like this",
                "give more of the id, or name the account",
            ),
            StoreError::KeyInUse
            | StoreError::Full
            | StoreError::Unavailable
            | StoreError::OtherVersion
            | StoreError::Corrupt => status::store(error),
        })?;
        self.0.people.changed(Change::Token(row.hash));
        Ok(token(row))
    }

    /// Returns the account that a request means: the caller's own, or for an admin any.
    async fn whose(&self, by: &Identity, user: &str) -> Result<UserName, Status> {
        if user.is_empty() || user == by.caller.user.as_str() {
            return Ok(by.caller.user.clone());
        }
        if by.caller.role != Role::Admin {
            return Err(others(by));
        }
        user.parse().map_err(status::invalid)
    }
}

fn others(by: &Identity) -> Status {
    status::denied(format!(
        "only an admin manages other people's tokens, and {} is {}",
        by.caller.user, by.caller.role
    ))
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

const fn scope_on_wire(scope: Scope) -> v1::Scope {
    match scope {
        Scope::Read => v1::Scope::Read,
        Scope::Call => v1::Scope::Call,
        Scope::Chat => v1::Scope::Chat,
        Scope::Admin => v1::Scope::Admin,
    }
}

/// Converts a token to its wire form, without its secret.
pub(super) fn token(row: TokenRow) -> v1::Token {
    let (session, scopes) = match &row.kind {
        TokenKind::Session => (true, Vec::new()),
        TokenKind::Api(scopes) => {
            (false, scopes.iter().map(|scope| scope_on_wire(*scope).into()).collect())
        }
    };
    v1::Token {
        token_id: row.id(),
        user: row.user.to_string(),
        name: row.name,
        session,
        scopes,
        created_at: row.created_at,
        expires_at: row.expires_at,
        last_used_at: row.last_used_at.unwrap_or_default(),
        created_by: row.created_by.map(String::from).unwrap_or_default(),
    }
}
