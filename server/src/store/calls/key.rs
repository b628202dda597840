//! Idempotency keys: names that clients give to calls, each used once by a person.

use orion_domain::{CallId, UserName};

use super::CallRow;
use crate::store::writer::Tx;
use crate::store::{Store, StoreError};

impl Store {
    /// Returns the call that this person made with this key before.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn find_idempotent(
        &self,
        user: &UserName,
        key: &str,
    ) -> Result<Option<CallRow>, StoreError> {
        Ok(sqlx::query_as("SELECT * FROM calls WHERE user_name = $1 AND idempotency_key = $2")
            .bind(user.as_str())
            .bind(key)
            .fetch_optional(self.reads())
            .await?)
    }
}

/// Removes and returns the idempotency key of a call.
pub(super) async fn take(tx: &mut Tx, id: CallId) -> Result<Option<String>, StoreError> {
    let id = id.to_string();
    let key = sqlx::query_scalar("SELECT idempotency_key FROM calls WHERE id = $1")
        .bind(&id)
        .fetch_optional(&mut tx.conn)
        .await?;
    sqlx::query("UPDATE calls SET idempotency_key = NULL WHERE id = $1")
        .bind(&id)
        .execute(&mut tx.conn)
        .await?;
    Ok(key.flatten())
}
