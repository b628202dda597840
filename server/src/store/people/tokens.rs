//! Sessions and API tokens of people, stored as hashes only.

use orion_domain::{Digest, Role, UserName};
use serde::Serialize;

use crate::scope::TokenKind;
use crate::store::columns::{digest, only, parsed, parsed_option};
use crate::store::db::{AuditEvent, Batch, DecodeError, Durability, FromRow, Row, Tx, sql, values};
use crate::store::{Store, StoreError};

/// The limit of sessions of one person; the oldest ones end.
const MAX_SESSIONS: i64 = 100;
/// The limit of API tokens of one person.
const MOST_TOKENS: i64 = 100;
/// The limit of rows in a list.
const MAX_LISTED: i64 = 10_000;
/// How precise the time of a token's last use is, in milliseconds.
const USE_PRECISION_MS: i64 = 60_000;

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

fn id(hash: Digest) -> String {
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
    #[error("a person has at most {MOST_TOKENS} API tokens")]
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

/// The audit event of a token that is created or revoked.
#[derive(Serialize)]
struct About<'a> {
    user: &'a UserName,
    token: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    scopes: String,
    expires_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a UserName>,
}

/// The audit event of a sign-out.
#[derive(Serialize)]
struct SignedOut<'a> {
    user: &'a UserName,
    ended: u64,
}

impl Store {
    /// Stores a token, and deletes expired ones of the same person. Of the sessions, the newest hundred
    /// stay.
    ///
    /// # Errors
    /// See [`TokenError`].
    pub async fn create_token(&self, token: NewToken, now: i64) -> Result<TokenRow, TokenError> {
        let NewToken { user, hash, kind, name, created_by, expires_at } = token;
        let body = About {
            user: &user,
            token: id(hash),
            name: &name,
            scopes: kind.to_string(),
            expires_at,
            by: created_by.as_ref(),
        };
        let event = AuditEvent::new(now, "token.created", String::new(), &body)?;
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                tx.execute(
                    sql("DELETE FROM tokens WHERE user_name = $1 AND expires_at <= $2")
                        .bind(user.as_str())
                        .bind(now),
                )
                .await?;
                if kind != TokenKind::Session {
                    let (tokens, named): (i64, i64) = tx
                        .query_one(
                            sql("SELECT COUNT(*), COUNT(CASE WHEN name = $2 THEN 1 END) FROM \
                 tokens WHERE user_name = $1 AND scopes <> 'session'")
                            .bind(user.as_str())
                            .bind(name.as_str()),
                        )
                        .await?;
                    if named > 0 {
                        return Ok(Err(TokenError::Taken));
                    }
                    if tokens >= MOST_TOKENS {
                        return Ok(Err(TokenError::TooMany));
                    }
                }
                let made: Option<TokenRow> = tx
                    .query_optional(
                        sql("INSERT INTO tokens (hash, user_name, scopes, name, created_by, \
                 created_at, expires_at) SELECT $1, name, $3, $4, $5, $6, $7 \
                 FROM users WHERE name = $2 AND disabled_at IS NULL RETURNING *")
                        .with(values![
                            hash,
                            user.as_str(),
                            kind.to_string(),
                            name,
                            created_by,
                            now,
                            expires_at
                        ]),
                    )
                    .await?;
                let Some(made) = made else { return Ok(Err(TokenError::NoUser)) };
                tx.execute(
                    sql("DELETE FROM tokens WHERE user_name = $1 AND scopes = 'session' \
                 AND hash NOT IN (SELECT hash FROM tokens WHERE user_name = $1 \
                 AND scopes = 'session' ORDER BY created_at DESC, seq DESC \
                 LIMIT $2)")
                    .bind(user.as_str())
                    .bind(MAX_SESSIONS),
                )
                .await?;
                tx.record(event);
                Ok(Ok(made))
            })
        })
        .await?
    }

    /// Returns a token while it is valid and its account is enabled, with the person's current role.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn token(
        &self,
        token_hash: Digest,
        now: i64,
    ) -> Result<Option<(TokenRow, Role)>, StoreError> {
        let rows = self
            .db()
            .rows(
                sql("SELECT tokens.*, users.role FROM tokens JOIN users ON \
                 users.name = tokens.user_name WHERE tokens.hash = $1 AND \
                 tokens.expires_at > $2 AND users.disabled_at IS NULL")
                .bind(token_hash)
                .bind(now),
            )
            .await?;
        let token = |row| Ok::<_, DecodeError>((TokenRow::from_row(row)?, parsed(row, "role")?));
        Ok(rows.first().map(token).transpose()?)
    }

    /// Stores the time of a token's use, once a minute at most.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn token_used(&self, token_hash: Digest, now: i64) -> Result<(), StoreError> {
        self.db()
            .apply(
                Batch::new(Durability::Commit).statement(
                    sql("UPDATE tokens SET last_used_at = $1 WHERE hash = $2 \
                     AND (last_used_at IS NULL OR last_used_at <= $3)")
                    .with(values![now, token_hash, now - USE_PRECISION_MS]),
                ),
            )
            .await
            .map(drop)
    }

    /// Returns tokens by person and age. Expired ones are included until they are deleted.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn tokens(&self, filter: TokenFilter) -> Result<Vec<TokenRow>, StoreError> {
        let TokenFilter { user, sessions } = filter;
        let text = match user {
            Some(_) => {
                "SELECT * FROM tokens WHERE user_name = $1 AND ($2 OR scopes <> 'session') \
                 ORDER BY created_at, seq LIMIT $3"
            }
            None => {
                "SELECT * FROM tokens WHERE $2 OR scopes <> 'session' \
                 ORDER BY user_name, created_at, seq LIMIT $3"
            }
        };
        self.db().query(sql(text).with(values![user, sessions, MAX_LISTED])).await
    }

    /// Revokes a token by its name, its id or a prefix of the id: one of this person, or of anybody if no
    /// person is given.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Conflict`] if several tokens match.
    pub async fn revoke_token(
        &self,
        token: &str,
        user: Option<&UserName>,
        by: &UserName,
        now: i64,
    ) -> Result<TokenRow, StoreError> {
        let (token, by) = (token.to_owned(), by.clone());
        let user = user.map(|user| user.as_str().to_owned());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let found: Vec<TokenRow> = tx
                    .query(
                        sql("SELECT * FROM tokens WHERE ($1 IS NULL OR user_name = $1) \
                     AND ((scopes <> 'session' AND name = $2) OR (length($2) BETWEEN 4 AND 12 \
                     AND substr(lower(hex(hash)), 1, length($2)) = lower($2))) LIMIT 2")
                        .bind(user)
                        .bind(token),
                    )
                    .await?;
                let row = only(found)?;
                tx.execute(sql("DELETE FROM tokens WHERE hash = $1").bind(row.hash)).await?;
                let body = About {
                    user: &row.user,
                    token: row.id(),
                    name: &row.name,
                    scopes: row.kind.to_string(),
                    expires_at: row.expires_at,
                    by: Some(&by),
                };
                tx.record(AuditEvent::new(now, "token.revoked", String::new(), &body)?);
                Ok(row)
            })
        })
        .await
    }

    /// Ends one session of a person, or all if none is given. Returns how many ended.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn sign_out(
        &self,
        user: &UserName,
        session: Option<Digest>,
        now: i64,
    ) -> Result<u64, StoreError> {
        let user = user.clone();
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let ended = match session {
                    None => end_sessions(tx, &user, None).await?,
                    Some(hash) => {
                        let text = "DELETE FROM tokens WHERE hash = $1 AND scopes = 'session'";
                        let hash = hash.as_bytes().to_vec();
                        tx.execute(sql(text).bind(hash)).await?
                    }
                };
                let body = SignedOut { user: &user, ended };
                tx.record(AuditEvent::new(now, "auth.signed_out", String::new(), &body)?);
                Ok(ended)
            })
        })
        .await
    }
}

/// Ends a person's sessions, except the one that is kept.
pub(super) async fn end_sessions(
    tx: &mut Tx,
    user: &UserName,
    keep: Option<Digest>,
) -> Result<u64, StoreError> {
    let ended = tx
        .execute(
            sql("DELETE FROM tokens WHERE user_name = $1 AND scopes = 'session' \
                 AND ($2 IS NULL OR hash <> $2)")
            .bind(user.as_str())
            .bind(keep),
        )
        .await?;
    Ok(ended)
}
