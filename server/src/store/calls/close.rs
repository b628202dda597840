//! Closes calls, once each.

use orion_domain::{CallState, Digest, ErrorCode};

use super::event::closed;
use super::{CloseCall, OpenCalls, StateChange, sources};
use crate::store::columns::signed;
use crate::store::db::{AuditEvent, Batch, Durability, Statement, Tx, sql, values};
use crate::store::{Store, StoreError};

/// Who closes a call, which limits the states that it may close.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClosedBy {
    /// The backend, in any state.
    Backend,
    /// The backend, unless the call was sent: only the device closes a call that was sent.
    BackendUnsent,
    /// The report of the device that the call was sent to. If the call's state is `unknown` and the device
    /// does not know the outcome either, its report replaces the backend's end, once.
    Device,
}

impl ClosedBy {
    /// Returns whether it may close a call in this state.
    const fn may_end(self, state: CallState) -> bool {
        match self {
            Self::Backend => true,
            Self::BackendUnsent => {
                matches!(
                    state,
                    CallState::Received | CallState::AwaitingApproval | CallState::Queued
                )
            }
            Self::Device => {
                matches!(state, CallState::Dispatched | CallState::Running | CallState::Unknown)
            }
        }
    }

    /// Returns whether the device reports that it does not know the outcome.
    fn reports_unknown(self, close: &CloseCall) -> bool {
        self == Self::Device && close.state == CallState::Unknown
    }
}

impl Store {
    /// Closes a call. Returns `false` if it is closed already, does not exist, or `by` may not close it.
    /// The end of a call whose outcome was unknown is recorded as `call.reconciled`.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] for a state that does not close a call. For a call whose opening was not
    /// waited for and failed, the error of that.
    pub async fn close_call(&self, close: CloseCall, by: ClosedBy) -> Result<bool, StoreError> {
        let (id, durability) = (close.id, self.open_calls().durability_of(close.id));
        let is_closed = match closing_by(self.open_calls(), &close, by)? {
            Some((update, event)) => {
                let batch = Batch::new(durability).statement(update).event(event);
                self.db().apply(batch).await?.is_done()
            }
            None => false,
        };
        let done = is_closed || self.close_unseen(close, by, durability).await?;
        if !done && let Some(error) = self.open_calls().opening_error(id) {
            return Err(error);
        }
        // A call that was sent stays open, so it stays tracked.
        if done || by != ClosedBy::BackendUnsent {
            self.open_calls().untrack(id);
        } else {
            self.open_calls().change(id);
        }
        Ok(done)
    }

    /// Closes a call whose state is read in the transaction.
    async fn close_unseen(
        &self,
        close: CloseCall,
        by: ClosedBy,
        durability: Durability,
    ) -> Result<bool, StoreError> {
        let work = async move |tx: &mut Tx| Ok(close_by(tx, close, by).await?.is_some());
        self.write(durability, move |tx| Box::pin(work(tx))).await
    }
}

/// Returns the statement that closes a call by the report of its device, and its audit event. None if the
/// call's history is not known, or this end may not follow.
pub(in crate::store) fn closing(
    open_calls: &OpenCalls,
    reported: &CloseCall,
) -> Result<Option<(Statement, AuditEvent)>, StoreError> {
    closing_by(open_calls, reported, ClosedBy::Device)
}

fn closing_by(
    open_calls: &OpenCalls,
    close: &CloseCall,
    by: ClosedBy,
) -> Result<Option<(Statement, AuditEvent)>, StoreError> {
    let history = open_calls.history(close.id);
    let Some((seen, history)) = history.and_then(|history| last_change(history, close, by)) else {
        return Ok(None);
    };
    let before = history.split_last().map(|(_, before)| before).unwrap_or_default();
    let update = sql("UPDATE calls SET state = $1, history = $2, code = $3, result = $4, \
         result_digest = $5, duration_us = $6, closed_at = $7, device_reported_unknown = $8, secrets = NULL \
         WHERE id = $9 AND state = $10 AND history = $11")
    .with(values![
        close.state.as_str(),
        StateChange::text(&history),
        close.code.map(ErrorCode::as_str),
        close.result.clone(),
        Digest::of(&close.result),
        signed(close.duration_us),
        close.at,
        by.reports_unknown(close) && close.witness.is_some(),
        close.id,
        seen.state.as_str(),
        StateChange::text(before)
    ])
    .exactly(1);
    Ok(Some((update, closed(close, &history)?)))
}

/// Returns the last known change and the history with this end, if the end may follow.
fn last_change(
    mut history: Vec<StateChange>,
    close: &CloseCall,
    by: ClosedBy,
) -> Option<(StateChange, Vec<StateChange>)> {
    let seen = *history.last()?;
    let may_follow = !seen.state.is_closed()
        && close.state.is_closed()
        && by.may_end(seen.state)
        && seen.state.can_become(close.state);
    history.push(StateChange { state: close.state, at: close.at });
    may_follow.then_some((seen, history))
}

/// Closes a call, inside a transaction, and returns its history; `None` if it cannot be closed.
pub(super) async fn close(
    tx: &mut Tx,
    close: CloseCall,
) -> Result<Option<Vec<StateChange>>, StoreError> {
    close_by(tx, close, ClosedBy::Backend).await
}

/// Closes a call by the report of its device, inside a transaction; `false` if it was closed before.
pub(in crate::store) async fn close_reported(
    tx: &mut Tx,
    reported: CloseCall,
) -> Result<bool, StoreError> {
    Ok(close_by(tx, reported, ClosedBy::Device).await?.is_some())
}

async fn close_by(
    tx: &mut Tx,
    close: CloseCall,
    by: ClosedBy,
) -> Result<Option<Vec<StateChange>>, StoreError> {
    if !close.state.is_closed() {
        return Err(StoreError::Conflict);
    }
    let history: Option<(String,)> = tx.query_optional(update(&close, by)).await?;
    let Some((history,)) = history else { return Ok(None) };
    // The row is changed already. A damaged history must not keep the end from being audited.
    let history = StateChange::parse(&history).unwrap_or_default();
    tx.record(closed(&close, &history)?);
    Ok(Some(history))
}

fn update(close: &CloseCall, by: ClosedBy) -> Statement {
    let update =
        sql("UPDATE calls SET state = $1, history = history || $2, code = $3, result = $4, \
         result_digest = $5, duration_us = $6, closed_at = $7, \
         secrets = NULL, device_reported_unknown = (device_reported_unknown OR $9 OR ($10 AND state = 'unknown')) \
         WHERE id = $8 AND (state IN ($11, $12, $13, $14, $15, $16) \
         OR ($10 AND state = 'unknown' AND NOT device_reported_unknown)) RETURNING history")
        .with(values![
            close.state.as_str(),
            StateChange { state: close.state, at: close.at }.next(),
            close.code.map(ErrorCode::as_str),
            close.result.clone(),
            Digest::of(&close.result),
            signed(close.duration_us),
            close.at,
            close.id,
            by.reports_unknown(close) && close.witness.is_some(),
            by.reports_unknown(close)
        ]);
    sources(close.state, |from| by.may_end(from)).into_iter().fold(update, Statement::bind)
}

#[cfg(test)]
mod tests {
    use orion_domain::CallId;

    use super::*;

    #[test]
    fn an_end_that_may_not_follow_is_left_to_the_database() {
        let end = |state| CloseCall {
            id: CallId::new(uuid::Uuid::nil()),
            state,
            code: None,
            result: Vec::new(),
            duration_us: 0,
            at: 9,
            witness: None,
        };
        let sent = StateChange { state: CallState::Dispatched, at: 1 };
        let close = end(CallState::Succeeded);
        let ended = StateChange { state: CallState::Succeeded, at: 9 };
        assert_eq!(
            last_change(vec![sent], &close, ClosedBy::Device),
            Some((sent, vec![sent, ended]))
        );
        assert_eq!(last_change(vec![sent], &close, ClosedBy::BackendUnsent), None);
        assert_eq!(last_change(vec![ended], &close, ClosedBy::Backend), None);
        assert_eq!(last_change(vec![sent], &end(CallState::Running), ClosedBy::Backend), None);
    }
}
