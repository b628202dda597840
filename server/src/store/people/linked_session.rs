//! The session that a sign-in link gives: of the person whose session made the link, and no longer than that session.

use orion_domain::{Digest, UserName};
use serde::Serialize;

use super::token::{TokenError, TokenRow};
use super::tokens::{About, end_oldest_sessions};
use crate::scope::TokenKind;
use crate::store::Store;
use crate::store::db::{AuditEvent, Durability, sql, values};

/// A session by a link.
#[derive(Debug, Clone)]
pub struct LinkedSession {
    /// The hash of its secret.
    pub hash: Digest,
    /// The session that made the link.
    pub maker: Digest,
    /// The latest expiry, Unix milliseconds.
    pub expires_at: i64,
    /// Where the link was followed, for the audit log.
    pub source: String,
}

/// The audit event of a sign-in by a link.
#[derive(Serialize)]
struct SignedIn<'a> {
    user: &'a UserName,
    from: &'a str,
    link: bool,
}

impl Store {
    /// Stores the session of a link if the session that made the link is valid in the same transaction. Of the
    /// person's sessions, the newest hundred stay.
    ///
    /// # Errors
    /// [`TokenError::NoUser`] if the maker's session or account has ended.
    pub async fn create_linked_session(
        &self,
        session: LinkedSession,
        now: i64,
    ) -> Result<TokenRow, TokenError> {
        let LinkedSession { hash, maker, expires_at, source } = session;
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let made: Option<TokenRow> = tx
                    .query_optional(
                        sql("INSERT INTO tokens (hash, user_name, scopes, name, created_at, \
                         expires_at) SELECT $1, maker.user_name, maker.scopes, '', $2, \
                         CASE WHEN maker.expires_at < $3 THEN maker.expires_at ELSE $3 END \
                         FROM tokens AS maker JOIN users ON users.name = maker.user_name \
                         WHERE maker.hash = $4 AND maker.scopes = $5 AND maker.expires_at > $2 \
                         AND users.disabled_at IS NULL RETURNING *")
                        .with(values![
                            hash,
                            now,
                            expires_at,
                            maker,
                            TokenKind::Session.to_string()
                        ]),
                    )
                    .await?;
                let Some(made) = made else { return Ok(Err(TokenError::NoUser)) };
                end_oldest_sessions(tx, &made.user).await?;
                let signed_in = SignedIn { user: &made.user, from: &source, link: true };
                tx.record(AuditEvent::new(now, "auth.signed_in", String::new(), &signed_in)?);
                let created = About {
                    user: &made.user,
                    token: made.id(),
                    name: "",
                    scopes: made.kind.to_string(),
                    expires_at: made.expires_at,
                    by: None,
                };
                tx.record(AuditEvent::new(now, "token.created", String::new(), &created)?);
                Ok(Ok(made))
            })
        })
        .await?
    }
}
