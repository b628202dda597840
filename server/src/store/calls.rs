//! Calls: stored before anything is sent, moved forward by guarded updates, closed once. Nothing is
//! evaluated or sent here.

mod counts;
mod event;
mod history;
mod key;
mod recover;
mod row;
mod waiting;

use orion_domain::{CallId, CallState, DeviceId, Digest, ErrorCode};

use super::row::{id_range, only, signed};
use super::writer::{Durability, Shape, Tx};
use super::{Store, StoreError};

pub use counts::Admitted;
use event::{closed, opened};
pub use history::{RecordedCall, first_id_at};
pub use row::{CallRow, CloseCall, NewCall, StateChange, Witness};
pub use waiting::{QueueError, QueueLimits, UnreconciledCall};

/// The condition that the device of an unknown call has not reported `unknown` itself: that report is
/// final.
macro_rules! no_word_of_device {
    () => {
        "history NOT LIKE '%\"unknown\"%\"unknown\"%' \
         AND NOT EXISTS (SELECT 1 FROM audit WHERE call_id = calls.id AND call_id <> '' \
         AND kind IN ('call.closed', 'call.reconciled') \
         AND body ->> '$.state' = 'unknown' AND body ->> '$.witness' IS NOT NULL)"
    };
}
use no_word_of_device;

/// How many ids with the same prefix are searched for the one call that is no preview.
const MAX_SAME_PREFIX: u8 = 8;

const INSERT: &str = "INSERT INTO calls (id, user_name, role, conversation_id, device_id, \
    device_name, tool, arguments, arguments_digest, dry_run, recovered, touches_json, decision, \
    rule, policy_version, risk, has_effects, state, history, idempotency_key, deadline_at, \
    created_at, code, result, result_digest, duration_us, closed_at, tainted, quoted, \
    admitted_at, plan_id, is_own_preview, queued_until, token_hash, undo_json) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, \
    $20, $21, $22, $23, $24, $25, $26, $27, $28, $29, $30, $31, $32, $33, $34, $35)";

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
}

impl Store {
    /// Stores a call in its initial state.
    ///
    /// # Errors
    /// [`StoreError::KeyInUse`] if this person has used the idempotency key. [`StoreError::Conflict`] if
    /// the id is taken, or for a queued call, which needs [`Self::open_queued_call`].
    pub async fn open_call(&self, call: NewCall) -> Result<(), StoreError> {
        match self.enter(call, None).await {
            Ok(()) => Ok(()),
            Err(QueueError::Store(error)) => Err(error),
            Err(QueueError::DeviceFull | QueueError::PersonFull) => Err(StoreError::Conflict),
        }
    }

    /// Stores an open call, queued only if the limits leave room for it.
    async fn enter(&self, call: NewCall, limits: Option<QueueLimits>) -> Result<(), QueueError> {
        let durability = durability(call.has_effects);
        if call.state.is_closed() || (call.state == CallState::Queued) != limits.is_some() {
            return Err(StoreError::Conflict.into());
        }
        let (id, event) = (call.id, opened(&call)?);
        let listed = self.track_read_only_call(&call);
        let shape = shape(&call);
        let done = self
            .write_as(shape, durability, move |tx| {
                Box::pin(async move {
                    if let Some(limits) = limits
                        && let Err(full) = limits.leave_room(tx, &call).await?
                    {
                        return Ok(Err(full));
                    }
                    insert(tx, call, None).await?;
                    tx.record(event);
                    Ok(Ok(()))
                })
            })
            .await;
        let done = done.map_err(QueueError::from).flatten();
        if listed && done.is_err() {
            self.untrack_read_only_call(id);
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
        let history = [
            StateChange { state: CallState::Received, at: call.created_at },
            StateChange { state: close.state, at: close.at },
        ];
        let closed = closed(&close, &history)?;
        self.write_as(shape(&call), durability(call.has_effects), move |tx| {
            Box::pin(async move {
                insert(tx, call, Some(close)).await?;
                tx.record(opened);
                tx.record(closed);
                Ok(())
            })
        })
        .await
    }

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
        self.write_one(self.durability_of(id), move |tx| Box::pin(advance(tx, id, to, now))).await
    }

    /// Closes a call. Returns `false` if it is closed already, does not exist, or `by` may not close it.
    /// The end of a call whose outcome was unknown is recorded as `call.reconciled`.
    ///
    /// # Errors
    /// [`StoreError::Conflict`] for a state that does not close a call.
    pub async fn close_call(&self, close: CloseCall, by: ClosedBy) -> Result<bool, StoreError> {
        let id = close.id;
        let done = self
            .write_one(self.durability_of(id), move |tx| {
                Box::pin(async move { Ok(close_by(tx, close, by).await?.is_some()) })
            })
            .await?;
        // A call that was sent stays open, so it stays tracked.
        if done || by != ClosedBy::BackendUnsent {
            self.untrack_read_only_call(id);
        }
        Ok(done)
    }

    /// Returns a call by its id or a prefix of the id.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Conflict`] if several ids have this prefix.
    pub async fn call(&self, id: &str) -> Result<CallRow, StoreError> {
        let (from, to) = id_range(id).ok_or(StoreError::NotFound)?;
        let mut ids: Vec<(String, bool)> =
            sqlx::query_as("SELECT id, dry_run FROM calls WHERE id >= $1 AND id < $2 LIMIT $3")
                .bind(from)
                .bind(to)
                .bind(MAX_SAME_PREFIX)
                .fetch_all(self.reads())
                .await?;
        // A call and its previews of the same millisecond share a prefix.
        let is_call = |(_, dry_run): &(String, bool)| !dry_run;
        if ids.len() < usize::from(MAX_SAME_PREFIX) && ids.iter().any(is_call) {
            ids.retain(is_call);
        }
        let (id, _) = only(ids)?;
        Ok(sqlx::query_as("SELECT * FROM calls WHERE id = $1")
            .bind(id)
            .fetch_one(self.reads())
            .await?)
    }

    /// Returns the device of a call. None if the call has no device.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn call_device(&self, id: CallId) -> Result<Option<DeviceId>, StoreError> {
        let (device,): (Option<String>,) =
            sqlx::query_as("SELECT device_id FROM calls WHERE id = $1")
                .bind(id.to_string())
                .fetch_one(self.reads())
                .await?;
        device.map(|text| text.parse().map_err(|_| StoreError::Corrupt)).transpose()
    }

    /// Returns the open calls of a device, oldest first; at most 1,000.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn open_calls_of_device(&self, device: DeviceId) -> Result<Vec<CallRow>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT * FROM calls WHERE device_id = $1 AND closed_at IS NULL ORDER BY id LIMIT 1000",
        )
        .bind(device.to_string())
        .fetch_all(self.reads())
        .await?)
    }

    fn durability_of(&self, id: CallId) -> Durability {
        durability(!self.inner.read_only_calls.contains(&id))
    }
}

const fn durability(has_effects: bool) -> Durability {
    if has_effects { Durability::Fsync } else { Durability::Commit }
}

/// A call that replaces another one takes its idempotency key by extra statements.
const fn shape(call: &NewCall) -> Shape {
    if call.replaces.is_some() { Shape::Several } else { Shape::One }
}

/// The states from which a call may move to this one, as a JSON array for a statement.
fn sources(to: CallState, among: impl Fn(CallState) -> bool) -> String {
    let among = CallState::ALL.into_iter().filter(|from| among(*from) && from.can_become(to));
    serde_json::Value::from_iter(among.map(CallState::as_str)).to_string()
}

/// Stores a call, inside a transaction.
pub(super) async fn open(tx: &mut Tx, call: NewCall) -> Result<(), StoreError> {
    let event = opened(&call)?;
    insert(tx, call, None).await?;
    tx.record(event);
    Ok(())
}

async fn insert(tx: &mut Tx, call: NewCall, close: Option<CloseCall>) -> Result<(), StoreError> {
    let idempotency_key = match call.replaces {
        Some(replaced) => key::take(tx, replaced).await?,
        None => call.idempotency_key,
    };
    let mut history = StateChange { state: CallState::Received, at: call.created_at }.first();
    let state = close.as_ref().map_or(call.state, |close| close.state);
    if state != CallState::Received {
        let at = close.as_ref().map_or(call.created_at, |close| close.at);
        history.push_str(&StateChange { state, at }.next());
    }
    let (device_id, device_name) = call
        .device
        .map_or((None, None), |(id, name)| (Some(id.to_string()), Some(String::from(name))));
    let digest = close.as_ref().map(|close| Digest::of(&close.result).as_bytes().to_vec());
    sqlx::query(INSERT)
        .bind(call.id.to_string())
        .bind(String::from(call.caller.user))
        .bind(call.caller.role.as_str())
        .bind(call.conversation.or(call.caller.conversation).map(|id| id.to_string()))
        .bind(device_id)
        .bind(device_name)
        .bind(call.tool)
        .bind(call.arguments)
        .bind(call.arguments_digest.as_bytes().to_vec())
        .bind(call.dry_run)
        .bind(call.recovered)
        .bind(serde_json::to_string(&call.touches).map_err(|_| StoreError::Corrupt)?)
        .bind(call.decision)
        .bind(call.rule)
        .bind(call.policy_version)
        .bind(call.risk.map(orion_domain::Risk::as_str))
        .bind(call.has_effects)
        .bind(state.as_str())
        .bind(history)
        .bind(idempotency_key)
        .bind(call.deadline_at)
        .bind(call.created_at)
        .bind(close.as_ref().and_then(|close| close.code).map(ErrorCode::as_str))
        .bind(close.as_ref().map(|close| close.result.clone()))
        .bind(digest)
        .bind(close.as_ref().map(|close| signed(close.duration_us)))
        .bind(close.as_ref().map(|close| close.at))
        .bind(call.tainted)
        .bind(call.quoted)
        .bind(call.admitted_at)
        .bind(call.plan.map(|plan| plan.to_string()))
        .bind(call.is_own_preview)
        .bind(call.queued_until)
        .bind(call.token.map(|token| token.as_bytes().to_vec()))
        .bind(call.undo.and_then(|undo| serde_json::to_string(&undo).ok()))
        .execute(&mut tx.conn)
        .await?;
    Ok(())
}

/// Moves an open call forward, inside a transaction.
pub(super) async fn advance(
    tx: &mut Tx,
    id: CallId,
    to: CallState,
    now: i64,
) -> Result<bool, StoreError> {
    let done = sqlx::query(
        "UPDATE calls SET state = $1, history = history || $2, \
         admitted_at = COALESCE(admitted_at, $4) \
         WHERE id = $3 AND state IN (SELECT value FROM json_each($5))",
    )
    .bind(to.as_str())
    .bind(StateChange { state: to, at: now }.next())
    .bind(id.to_string())
    .bind((to == CallState::Dispatched).then_some(now))
    .bind(sources(to, |_| true))
    .execute(&mut tx.conn)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Closes a call, inside a transaction, and returns its history; `None` if it cannot be closed.
pub(super) async fn close(
    tx: &mut Tx,
    close: CloseCall,
) -> Result<Option<Vec<StateChange>>, StoreError> {
    close_by(tx, close, ClosedBy::Backend).await
}

/// Closes a call by the report of its device, inside a transaction; `false` if it was closed before.
pub(super) async fn close_reported(tx: &mut Tx, reported: CloseCall) -> Result<bool, StoreError> {
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
    let unknown_too = by == ClosedBy::Device && close.state == CallState::Unknown;
    let history: Option<(String,)> = sqlx::query_as(concat!(
        "UPDATE calls SET state = $1, history = history || $2, code = $3, result = $4, \
         result_digest = $5, duration_us = $6, closed_at = $7 \
         WHERE id = $8 AND (state IN (SELECT value FROM json_each($10)) \
         OR ($9 AND state = 'unknown' AND ",
        no_word_of_device!(),
        ")) RETURNING history"
    ))
    .bind(close.state.as_str())
    .bind(StateChange { state: close.state, at: close.at }.next())
    .bind(close.code.map(ErrorCode::as_str))
    .bind(close.result.clone())
    .bind(Digest::of(&close.result).as_bytes().to_vec())
    .bind(signed(close.duration_us))
    .bind(close.at)
    .bind(close.id.to_string())
    .bind(unknown_too)
    .bind(sources(close.state, |from| by.may_end(from)))
    .fetch_optional(&mut tx.conn)
    .await?;
    let Some((history,)) = history else { return Ok(None) };
    // The row is changed already. A damaged history must not keep the end from being audited.
    let history = StateChange::parse(&history).unwrap_or_default();
    tx.record(closed(&close, &history)?);
    Ok(Some(history))
}
