//! Ends sessions and API tokens.

use orion_domain::{Digest, UserName};
use serde::Serialize;

use super::token::TokenRow;
use super::tokens::About;
use crate::store::columns::only;
use crate::store::db::{AuditEvent, Durability, Tx, sql};
use crate::store::{Store, StoreError};

/// The audit event of a sign-out.
#[derive(Serialize)]
struct SignedOut<'a> {
    user: &'a UserName,
    ended: u64,
}

impl Store {
    /// Revokes a token by its name, its id or a prefix of the id: one of this person, or of anybody if no
    /// person is given.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Ambiguous`] if several tokens match.
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
