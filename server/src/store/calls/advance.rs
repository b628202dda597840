//! Moves open calls forward.

use orion_domain::{ApprovalId, CallId, CallState, UserName};
use serde::Serialize;

use super::{StateChange, sources};
use crate::store::db::{AuditEvent, Batch, Durability, Statement, Tx, sql, values};
use crate::store::{Store, StoreError};

/// The audit event of a requested cancel.
#[derive(Serialize)]
struct CancelRequestedEvent<'a> {
    by: &'a UserName,
}

impl Store {
    /// Moves an open call forward. Returns `false` if its state does not allow that, or it does not exist.
    /// The change is added to the call's history.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] for a state that closes a call, which needs [`Self::close_call`], and for
    /// `queued`, which needs [`Self::queue_call`].
    pub async fn advance_call(
        &self,
        id: CallId,
        to: CallState,
        now: i64,
    ) -> Result<bool, StoreError> {
        if to.is_closed() || to == CallState::Queued {
            return Err(StoreError::Conflict);
        }
        self.open_calls().change(id);
        let durability = self.open_calls().durability_of(id);
        let batch = Batch::new(durability).statement(advancing(id, to, now).exactly(1));
        Ok(self.db().apply(batch).await?.is_done())
    }

    /// Records that a person asked to cancel a call, on the call and in the audit log.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn request_cancel(
        &self,
        id: CallId,
        by: &UserName,
        now: i64,
    ) -> Result<(), StoreError> {
        let body = CancelRequestedEvent { by };
        let event = AuditEvent::new(now, "cancel.asked", id.to_string(), &body)?;
        let request =
            sql("UPDATE calls SET cancel_requested_at = COALESCE(cancel_requested_at, $1) \
             WHERE id = $2")
            .bind(now)
            .bind(id);
        let batch = Batch::new(Durability::Commit).statement(request).event(event);
        self.db().apply(batch).await.map(drop)
    }
}

/// Moves an open call forward, inside a transaction.
pub(super) async fn advance(
    tx: &mut Tx,
    id: CallId,
    to: CallState,
    now: i64,
) -> Result<bool, StoreError> {
    Ok(tx.execute(advancing(id, to, now)).await? == 1)
}

/// Returns the statement that moves an open call forward.
pub(in crate::store) fn advancing(id: CallId, to: CallState, now: i64) -> Statement {
    let update = sql("UPDATE calls SET state = $1, history = history || $2, \
         admitted_at = COALESCE(admitted_at, $4) \
         WHERE id = $3 AND state IN ($5, $6, $7, $8, $9, $10)")
    .with(values![
        to.as_str(),
        StateChange { state: to, at: now }.next(),
        id,
        (to == CallState::Dispatched).then_some(now)
    ]);
    sources(to, |_| true).into_iter().fold(update, Statement::bind)
}

/// Returns the statement that makes a call wait for an approval request.
pub(in crate::store) fn waiting_for(id: CallId, approval: ApprovalId, now: i64) -> Statement {
    let to = CallState::AwaitingApproval;
    let update = sql("UPDATE calls SET state = $1, history = history || $2, approval_id = $4 \
         WHERE id = $3 AND state IN ($5, $6, $7, $8, $9, $10)")
    .with(values![to.as_str(), StateChange { state: to, at: now }.next(), id, approval]);
    sources(to, |_| true).into_iter().fold(update, Statement::bind)
}
