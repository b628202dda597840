//! Stores new calls.

use orion_domain::{CallState, Digest, ErrorCode, Risk};

use super::event::{closed, opened};
use super::{CloseCall, NewCall, QueueError, QueueLimits, StateChange, durability, key};
use crate::store::columns::signed;
use crate::store::db::{AuditEvent, Batch, Statement, Tx, Value, sql, values};
use crate::store::{Store, StoreError};

const INSERT: &str = "INSERT INTO calls (id, user_name, role, conversation_id, device_id, \
    device_name, tool, arguments, arguments_digest, dry_run, recovered, touches_json, decision, \
    rule, policy_version, risk, has_effects, state, history, idempotency_key, deadline_at, \
    created_at, code, result, result_digest, duration_us, closed_at, tainted, quoted, \
    admitted_at, plan_id, is_own_preview, queued_until, token_hash, undo_json, secrets, content_raises, \
    turn_id) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, \
    $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38)";

impl Store {
    /// Stores a call in its initial state.
    ///
    /// # Errors
    /// [`StoreError::KeyInUse`] if this person has used the idempotency key. [`StoreError::Conflict`] if
    /// the id is taken, or for a queued call, which needs [`Self::open_queued_call`].
    pub async fn open_call(&self, call: NewCall) -> Result<(), StoreError> {
        if call.state == CallState::Queued {
            return Err(StoreError::Conflict);
        }
        let (id, is_tracked) = (call.id, self.open_calls().track(&call));
        let done = match call.replaces {
            // A call that replaces another one takes its idempotency key.
            Some(_) => {
                let durability = durability(call.has_effects);
                self.write(durability, move |tx| Box::pin(async move { open(tx, call).await }))
                    .await
            }
            None => match batch(call) {
                Ok(batch) => self.db().apply(batch).await.map(drop),
                Err(error) => Err(error),
            },
        };
        if is_tracked && done.is_err() {
            self.open_calls().untrack(id);
        }
        done
    }

    /// Stores a call that is about to be sent to its device. A call that changes nothing and has no
    /// idempotency key is not waited for: it is committed with whatever comes next, at most 20 ms later and
    /// never after its end. If that fails, [`Self::close_call`] says so, and later calls are waited for until a
    /// commit succeeds.
    ///
    /// # Errors
    /// As [`Self::open_call`].
    pub async fn open_dispatched_call(&self, call: NewCall) -> Result<(), StoreError> {
        let may_wait = call.state == CallState::Dispatched
            && !call.has_effects
            && call.idempotency_key.is_none()
            && call.replaces.is_none()
            && !self.db().is_failing();
        if !may_wait || !self.open_calls().track(&call) {
            return self.open_call(call).await;
        }
        let id = call.id;
        let opening = match batch(call) {
            Ok(batch) => self.db().apply_later(batch).await,
            Err(error) => Err(error),
        };
        match opening {
            Ok(opening) => {
                self.open_calls().opens(id, opening);
                Ok(())
            }
            Err(error) => {
                self.open_calls().untrack(id);
                Err(error)
            }
        }
    }

    /// Stores a call that waits for its device.
    ///
    /// # Errors
    /// See [`QueueError`]; nothing is stored then.
    pub async fn open_queued_call(
        &self,
        call: NewCall,
        limits: QueueLimits,
    ) -> Result<(), QueueError> {
        if call.state != CallState::Queued {
            return Err(StoreError::Conflict.into());
        }
        let (id, is_tracked) = (call.id, self.open_calls().track(&call));
        let done = self.write(durability(call.has_effects), move |tx| {
            Box::pin(async move {
                if let Err(full) = limits.leave_room(tx, &call).await? {
                    return Ok(Err(full));
                }
                open(tx, call).await.map(Ok)
            })
        });
        let done = done.await.map_err(QueueError::from).flatten();
        if is_tracked && done.is_err() {
            self.open_calls().untrack(id);
        }
        done
    }

    /// Stores a call that is closed at once: a denial. Both audit rows are in the same transaction.
    ///
    /// # Errors
    /// As [`Self::open_call`]; also if a received call cannot end in this state.
    pub async fn open_and_close_call(
        &self,
        call: NewCall,
        close: CloseCall,
    ) -> Result<(), StoreError> {
        if !CallState::Received.can_become(close.state) || !close.state.is_closed() {
            return Err(StoreError::Conflict);
        }
        let call = NewCall { state: CallState::Received, ..call };
        let opened = opened(&call)?;
        let mut history = StateChange::of_new(&call);
        history.push(StateChange { state: close.state, at: close.at });
        let closed = closed(&close, &history)?;
        let durability = durability(call.has_effects);
        let Some(replaced) = call.replaces else {
            let insert = insert(call, Some(close))?;
            let batch = Batch::new(durability).statement(insert).event(opened).event(closed);
            return self.db().apply(batch).await.map(drop);
        };
        self.write(durability, move |tx| {
            Box::pin(async move {
                let idempotency_key = key::take(tx, replaced).await?;
                tx.execute(insert(NewCall { idempotency_key, ..call }, Some(close))?).await?;
                tx.record(opened);
                tx.record(closed);
                Ok(())
            })
        })
        .await
    }
}

/// Returns the batch that stores an open call.
fn batch(call: NewCall) -> Result<Batch, StoreError> {
    let durability = durability(call.has_effects);
    let (insert, event) = opening(call)?;
    Ok(Batch::new(durability).statement(insert).event(event))
}

/// Returns the statement that stores an open call that replaces none, and its audit event.
pub(in crate::store) fn opening(call: NewCall) -> Result<(Statement, AuditEvent), StoreError> {
    let event = opened(&call)?;
    Ok((insert(call, None)?, event))
}

/// Stores an open call, inside a transaction.
pub(in crate::store) async fn open(tx: &mut Tx, call: NewCall) -> Result<(), StoreError> {
    let event = opened(&call)?;
    let idempotency_key = match call.replaces {
        Some(replaced) => key::take(tx, replaced).await?,
        None => call.idempotency_key.clone(),
    };
    tx.execute(insert(NewCall { idempotency_key, ..call }, None)?).await?;
    tx.record(event);
    Ok(())
}

/// Returns the statement that stores a call, open or with its end.
fn insert(call: NewCall, close: Option<CloseCall>) -> Result<Statement, StoreError> {
    let mut history = StateChange::of_new(&call);
    let state = close.as_ref().map_or(call.state, |close| close.state);
    if close.is_none() && state.is_closed() {
        return Err(StoreError::Conflict);
    }
    history.extend(close.as_ref().map(|close| StateChange { state, at: close.at }));
    let (device_id, device_name) = call.device.unzip();
    let raises = (!call.content_raises.is_empty())
        .then(|| serde_json::to_string(&call.content_raises).map_err(|_| StoreError::Corrupt))
        .transpose()?;
    let end = close.map(|close| (Digest::of(&close.result), close));
    let of_end = |value: fn(&(Digest, CloseCall)) -> Value| end.as_ref().map_or(Value::Null, value);
    Ok(sql(INSERT).with(values![
        call.id,
        call.caller.user,
        call.caller.role.as_str(),
        call.conversation.or(call.caller.conversation),
        device_id,
        device_name,
        call.tool,
        call.arguments,
        call.arguments_digest,
        call.dry_run,
        call.recovered,
        serde_json::to_string(&call.touches).map_err(|_| StoreError::Corrupt)?,
        call.decision,
        call.rule,
        call.policy_version,
        call.risk.map(Risk::as_str),
        call.has_effects,
        state.as_str(),
        StateChange::text(&history),
        call.idempotency_key,
        call.deadline_at,
        call.created_at,
        of_end(|(_, end)| end.code.map(ErrorCode::as_str).into()),
        of_end(|(_, end)| end.result.clone().into()),
        of_end(|(digest, _)| (*digest).into()),
        of_end(|(_, end)| signed(end.duration_us).into()),
        of_end(|(_, end)| end.at.into()),
        call.tainted,
        call.quoted,
        call.admitted_at,
        call.plan,
        call.is_own_preview,
        call.queued_until,
        call.token,
        call.undo.and_then(|undo| serde_json::to_string(&undo).ok()),
        call.secrets.filter(|_| end.is_none()).map(|secrets| secrets.expose().to_owned()),
        raises,
        call.turn
    ]))
}
