//! Idempotency keys: names that clients give to calls, each used once by a person.

use orion_domain::{CallId, UserName};

use super::CallRow;
use crate::store::db::{Tx, sql};
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
        self.db()
            .query_optional(
                sql("SELECT * FROM calls WHERE user_name = $1 AND idempotency_key = $2")
                    .bind(user.as_str())
                    .bind(key),
            )
            .await
    }
}

/// Removes and returns the idempotency key of a call.
pub(super) async fn take(tx: &mut Tx, id: CallId) -> Result<Option<String>, StoreError> {
    let key: Option<(Option<String>,)> =
        tx.query_optional(sql("SELECT idempotency_key FROM calls WHERE id = $1").bind(id)).await?;
    tx.execute(sql("UPDATE calls SET idempotency_key = NULL WHERE id = $1").bind(id)).await?;
    Ok(key.and_then(|(key,)| key))
}
