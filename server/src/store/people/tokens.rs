//! Sessions and API tokens of people, stored as hashes only.

use orion_domain::{Digest, Role, UserName};
use serde::Serialize;

use super::token::{MAX_TOKENS, NewToken, TokenError, TokenFilter, TokenRow, USE_PRECISION_MS, id};
use crate::scope::TokenKind;
use crate::store::columns::parsed;
use crate::store::db::{AuditEvent, Batch, DecodeError, Durability, FromRow as _, Tx, sql, values};
use crate::store::{Store, StoreError};

/// The limit of sessions of one person; the oldest ones end.
const MAX_SESSIONS: i64 = 100;
/// The limit of rows in a list.
const MAX_LISTED: i64 = 10_000;
/// The audit event of a token that is created or revoked.
#[derive(Serialize)]
pub(super) struct About<'a> {
    pub(super) user: &'a UserName,
    pub(super) token: String,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub(super) name: &'a str,
    pub(super) scopes: String,
    pub(super) expires_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) by: Option<&'a UserName>,
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
                    if tokens >= MAX_TOKENS {
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
                end_oldest_sessions(tx, &user).await?;
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
}

/// Ends a person's oldest sessions above the limit.
pub(super) async fn end_oldest_sessions(tx: &mut Tx, user: &UserName) -> Result<(), StoreError> {
    tx.execute(
        sql("DELETE FROM tokens WHERE user_name = $1 AND scopes = 'session' AND hash NOT IN \
             (SELECT hash FROM tokens WHERE user_name = $1 AND scopes = 'session' \
             ORDER BY created_at DESC, seq DESC LIMIT $2)")
        .bind(user.as_str())
        .bind(MAX_SESSIONS),
    )
    .await
    .map(drop)
}
