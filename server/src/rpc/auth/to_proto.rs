//! Converts accounts and tokens to their wire form, without their secrets.

use orion_wire::v1;

use crate::scope::{Scope, TokenKind};
use crate::store::{AccountRow, TokenRow};

/// Converts an account.
pub(super) fn user(row: AccountRow) -> v1::User {
    let AccountRow { user, sessions, tokens, last_used_at } = row;
    v1::User {
        user: user.name.to_string(),
        role: user.role.to_string(),
        has_password: user.password_hash.is_some(),
        sessions: count(sessions),
        tokens: count(tokens),
        created_at: user.created_at,
        last_used_at: last_used_at.unwrap_or_default(),
        disabled_at: user.disabled_at.unwrap_or_default(),
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

/// Converts a count.
pub(super) fn count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}
