//! The effects of calls on the backend itself: each is stored in one transaction with what the call changed, so that a
//! call whose result was lost in a crash is answered from here.

use orion_domain::CallId;

use super::db::{Batch, Durability, Statement, sql, values};
use super::{Store, StoreError};

/// The effect of a call, to be stored with what it changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalEffect {
    /// The call.
    pub call: CallId,
    /// The message and the data of its result, JSON.
    pub outcome: String,
}

impl LocalEffect {
    /// Returns the statement that stores the effect. It fails if the call has one already.
    pub(super) fn statement(&self) -> Statement {
        sql("INSERT INTO local_effects (call_id, outcome) VALUES ($1, $2)")
            .with(values![self.call, &self.outcome])
            .exactly(1)
    }
}

impl Store {
    /// Returns the outcome of a call on the backend that had its effect. `None` if it had none.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn local_effect(&self, call: CallId) -> Result<Option<String>, StoreError> {
        let text = "SELECT outcome FROM local_effects WHERE call_id = $1";
        let found: Option<(String,)> = self.db().query_optional(sql(text).bind(call)).await?;
        Ok(found.map(|(outcome,)| outcome))
    }

    /// Deletes the effect of a call whose end is stored.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn forget_local_effect(&self, call: CallId) -> Result<(), StoreError> {
        let delete = sql("DELETE FROM local_effects WHERE call_id = $1").bind(call);
        let batch = Batch::new(Durability::Commit).statement(delete);
        self.db().apply(batch).await.map(drop)
    }

    /// Deletes the effects of calls whose outcome is stored: those that an earlier process did not delete.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn forget_settled_effects(&self) -> Result<(), StoreError> {
        let delete = sql("DELETE FROM local_effects WHERE call_id IN (SELECT id FROM calls \
             WHERE id = call_id AND closed_at IS NOT NULL AND state <> 'unknown')");
        let batch = Batch::new(Durability::Commit).statement(delete);
        self.db().apply(batch).await.map(drop)
    }
}
