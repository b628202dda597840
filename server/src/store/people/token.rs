//! A session or an API token, stored as its hash only.

use orion_domain::{Digest, UserName};

use crate::scope::TokenKind;
use crate::store::StoreError;
use crate::store::columns::{digest, parsed, parsed_option};
use crate::store::db::{DecodeError, FromRow, Row};

/// The limit of API tokens of one person.
pub(super) const MAX_TOKENS: i64 = 100;
/// How precise the time of a token's last use is, in milliseconds.
pub(super) const USE_PRECISION_MS: i64 = 60_000;

/// A session or an API token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenRow {
    /// The hash of its secret.
    pub hash: Digest,
    /// The account.
    pub user: UserName,
    /// Whether it is a session or an API token.
    pub kind: TokenKind,
    /// The name that the person gave it. Empty for a session.
    pub name: String,
    /// When it was created, Unix milliseconds.
    pub created_at: i64,
    /// When it expires, Unix milliseconds.
    pub expires_at: i64,
    /// When it was last used, to the minute, Unix milliseconds. None if it was not used.
    pub last_used_at: Option<i64>,
    /// Who created it. None if it was the person.
    pub created_by: Option<UserName>,
}

impl TokenRow {
    /// Returns the prefix of the hash that people use as its id.
    #[must_use]
    pub fn id(&self) -> String {
        id(self.hash)
    }

    /// Returns whether its last use has to be stored again.
    #[must_use]
    pub fn use_is_old(&self, now: i64) -> bool {
        self.last_used_at.is_none_or(|at| now - at >= USE_PRECISION_MS)
    }
}

/// Returns the prefix of a hash that people use as the token's id.
pub(super) fn id(hash: Digest) -> String {
    let mut id = hash.to_string();
    id.truncate(12);
    id
}

impl FromRow for TokenRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            hash: digest(row, "hash")?,
            user: parsed(row, "user_name")?,
            kind: parsed(row, "scopes")?,
            name: row.get("name")?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            last_used_at: row.get("last_used_at")?,
            created_by: parsed_option(row, "created_by")?,
        })
    }
}

/// A new session or API token.
#[derive(Debug, Clone)]
pub struct NewToken {
    /// The account.
    pub user: UserName,
    /// The hash of its secret.
    pub hash: Digest,
    /// Whether it is a session or an API token.
    pub kind: TokenKind,
    /// The name that the person gave it. Empty for a session.
    pub name: String,
    /// Who creates it. None if it is the person.
    pub created_by: Option<UserName>,
    /// When it expires, Unix milliseconds.
    pub expires_at: i64,
}

/// Why a token was not stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The account does not exist or is disabled.
    #[error("there is no such enabled account")]
    NoUser,
    /// The person has a token of that name.
    #[error("there is a token of that name")]
    Taken,
    /// The person has reached the limit of API tokens.
    #[error("a person has at most {MAX_TOKENS} API tokens")]
    TooMany,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Which tokens to list.
#[derive(Debug, Clone, Default)]
pub struct TokenFilter {
    /// Only those of this person. None for everybody.
    pub user: Option<UserName>,
    /// Whether sessions are included.
    pub sessions: bool,
}
