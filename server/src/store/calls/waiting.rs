//! Queries for queued calls, calls whose outcome only their device knows, and lists of calls.

use orion_domain::{CallId, CallState, DeviceId, UserName};

use super::{CallRow, NewCall, no_word_of_device};
use crate::store::writer::Tx;
use crate::store::{Store, StoreError};

/// How many calls are read at a time.
const PAGE: i64 = 256;

/// The columns of a call, without those that may be large.
macro_rules! light {
    () => {
        "SELECT calls.id, calls.user_name, calls.role, calls.conversation_id, calls.device_id, \
         calls.device_name, calls.tool, x'' AS arguments, calls.arguments_digest, calls.dry_run, \
         calls.recovered, calls.tainted, calls.quoted, '[]' AS touches_json, calls.decision, \
         calls.rule, calls.policy_version, calls.risk, calls.undo_json, calls.has_effects, \
         calls.state, calls.history, calls.idempotency_key, calls.plan_id, calls.deadline_at, \
         calls.queued_until, calls.created_at, calls.approval_id, calls.code, NULL AS result, \
         calls.duration_us, calls.closed_at, calls.token_hash FROM calls "
    };
}

/// The condition that a call's device still has to report its outcome. $1 is the time after which the call
/// became unknown, if it did.
macro_rules! is_unsettled {
    () => {
        concat!(
            "state IN ('dispatched', 'running', 'unknown') \
             AND (closed_at IS NULL OR (closed_at > $1 AND ",
            no_word_of_device!(),
            "))"
        )
    };
}

/// The limits of queued calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// For one device.
    pub per_device: u32,
    /// For one person, on all devices together.
    pub per_person: u32,
}

/// A call that was sent and whose outcome only its device knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreconciledCall {
    /// Its id.
    pub id: CallId,
    /// Whether a person asked to cancel it.
    pub is_stopped: bool,
}

/// Why a call is not queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// The device has reached its limit of queued calls.
    #[error("as many calls wait for this device as may")]
    DeviceFull,
    /// The person has reached the limit of queued calls.
    #[error("as many calls of this person wait as may")]
    PersonFull,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl QueueLimits {
    /// Checks the limits inside the transaction that queues the call. Transactions run one at a time, so
    /// only one of two calls gets the last place.
    pub(super) async fn leave_room(
        self,
        tx: &mut Tx,
        call: &NewCall,
    ) -> Result<Result<(), QueueError>, StoreError> {
        let device = call.device.as_ref().map(|(id, _)| id.to_string());
        self.room_for(tx, device, call.caller.user.as_str()).await
    }

    async fn room_for(
        self,
        tx: &mut Tx,
        device: Option<String>,
        user: &str,
    ) -> Result<Result<(), QueueError>, StoreError> {
        let (of_device, of_person): (i64, i64) = sqlx::query_as(
            "SELECT (SELECT COUNT(*) FROM calls WHERE device_id = $1 AND state = 'queued'), \
             (SELECT COUNT(*) FROM calls WHERE user_name = $2 AND state = 'queued')",
        )
        .bind(device)
        .bind(user)
        .fetch_one(&mut tx.conn)
        .await?;
        Ok(if of_device >= i64::from(self.per_device) {
            Err(QueueError::DeviceFull)
        } else if of_person >= i64::from(self.per_person) {
            Err(QueueError::PersonFull)
        } else {
            Ok(())
        })
    }
}

impl Store {
    /// Stores a call that waits for its device.
    ///
    /// # Errors
    /// See [`QueueError`]; nothing is stored then.
    pub async fn open_queued_call(
        &self,
        call: NewCall,
        limits: QueueLimits,
    ) -> Result<(), QueueError> {
        self.enter(call, Some(limits)).await
    }

    /// Queues a stored call until its device connects. Returns `false` if its state does not allow that, or
    /// it does not exist.
    ///
    /// # Errors
    /// See [`QueueError`]; the call is unchanged then.
    pub async fn queue_call(
        &self,
        id: CallId,
        limits: QueueLimits,
        now: i64,
    ) -> Result<bool, QueueError> {
        self.write_one(self.durability_of(id), move |tx| {
            Box::pin(async move {
                // A call that is queued already must not count twice.
                let found: Option<(Option<String>, String)> = sqlx::query_as(
                    "SELECT device_id, user_name FROM calls \
                     WHERE id = $1 AND state IN (SELECT value FROM json_each($2))",
                )
                .bind(id.to_string())
                .bind(super::sources(CallState::Queued, |_| true))
                .fetch_optional(&mut tx.conn)
                .await?;
                let Some((device, user)) = found else { return Ok(Ok(false)) };
                if let Err(full) = limits.room_for(tx, device, &user).await? {
                    return Ok(Err(full));
                }
                super::advance(tx, id, CallState::Queued, now).await.map(Ok)
            })
        })
        .await?
    }

    /// Returns the next calls that wait for this device, oldest first, after `after`.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn queued_calls(
        &self,
        device: DeviceId,
        after: Option<CallId>,
    ) -> Result<Vec<CallId>, StoreError> {
        let ids: Vec<(String,)> = sqlx::query_as(
            "SELECT id FROM calls WHERE device_id = $1 AND id > $2 AND state = 'queued' \
             ORDER BY id LIMIT $3",
        )
        .bind(device.to_string())
        .bind(after.map(|id| id.to_string()).unwrap_or_default())
        .bind(PAGE)
        .fetch_all(self.reads())
        .await?;
        ids.into_iter().map(|(id,)| id.parse().map_err(|_| StoreError::Corrupt)).collect()
    }

    /// Returns the next calls that were sent to this device and whose outcome it still has to report,
    /// oldest first, after `after`. Those are open calls and calls that became unknown after `since`, Unix
    /// milliseconds.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn unsettled_calls(
        &self,
        device: DeviceId,
        after: Option<CallId>,
        since: i64,
    ) -> Result<Vec<UnreconciledCall>, StoreError> {
        let rows: Vec<(String, bool)> = sqlx::query_as(concat!(
            "SELECT id, EXISTS (SELECT 1 FROM audit WHERE call_id = calls.id AND call_id <> '' \
             AND kind = 'cancel.asked') FROM calls WHERE device_id = $2 AND id > $3 AND ",
            is_unsettled!(),
            " ORDER BY id LIMIT $4"
        ))
        .bind(since)
        .bind(device.to_string())
        .bind(after.map(|id| id.to_string()).unwrap_or_default())
        .bind(PAGE)
        .fetch_all(self.reads())
        .await?;
        let unsettled = |(id, is_stopped): (String, bool)| {
            let id = id.parse().map_err(|_| StoreError::Corrupt)?;
            Ok(UnreconciledCall { id, is_stopped })
        };
        rows.into_iter().map(unsettled).collect()
    }

    /// Returns the devices with unsettled calls.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn devices_with_unsettled_calls(
        &self,
        since: i64,
    ) -> Result<Vec<DeviceId>, StoreError> {
        let sql = concat!(
            "SELECT DISTINCT device_id FROM calls WHERE device_id IS NOT NULL AND ",
            is_unsettled!()
        );
        let ids: Vec<(String,)> = sqlx::query_as(sql).bind(since).fetch_all(self.reads()).await?;
        ids.into_iter().map(|(id,)| id.parse().map_err(|_| StoreError::Corrupt)).collect()
    }

    /// Returns whether a call waits for this device, or was sent to it and has no known outcome.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn has_open_calls(&self, device: DeviceId) -> Result<bool, StoreError> {
        let (any,): (bool,) = sqlx::query_as(
            "SELECT EXISTS (SELECT 1 FROM calls WHERE device_id = $1 AND state = 'queued') \
             OR EXISTS (SELECT 1 FROM calls WHERE device_id = $1 \
             AND state IN ('dispatched', 'running', 'unknown'))",
        )
        .bind(device.to_string())
        .fetch_one(self.reads())
        .await?;
        Ok(any)
    }

    /// Returns queued calls whose waiting time or whose approval has expired, oldest first, without
    /// arguments; at most 256.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn overdue_calls(&self, now: i64) -> Result<Vec<CallRow>, StoreError> {
        let sql = concat!(
            light!(),
            "WHERE id IN (SELECT id FROM calls \
             WHERE state = 'queued' AND COALESCE(queued_until, deadline_at) <= $1 \
             UNION ALL SELECT calls.id FROM calls CROSS JOIN approvals \
             ON approvals.id = calls.approval_id WHERE calls.state = 'queued' \
             AND calls.approval_id IS NOT NULL AND approvals.expires_at <= $1) \
             ORDER BY id LIMIT $2"
        );
        Ok(sqlx::query_as(sql).bind(now).bind(PAGE).fetch_all(self.reads()).await?)
    }

    /// Returns the newest calls, of one person or all, on one device or all, without arguments and results.
    /// With `open`, only calls that are open or whose outcome is unknown. Previews only with `previews`.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn newest_calls(
        &self,
        user: Option<&UserName>,
        device: Option<DeviceId>,
        open: bool,
        previews: bool,
        most: u32,
    ) -> Result<Vec<CallRow>, StoreError> {
        // Open calls are few. The other queries have an index each; for one person on one device, the
        // device's calls are filtered in the index alone.
        let sql = match (open, user, device) {
            (false, None, None) if previews => concat!(light!(), "ORDER BY id DESC LIMIT $3"),
            (true, ..) => concat!(
                light!(),
                "WHERE (closed_at IS NULL OR state = 'unknown') \
                 AND ($1 IS NULL OR user_name = $1) AND ($2 IS NULL OR device_id = $2) \
                 AND ($4 OR dry_run = 0) ORDER BY id DESC LIMIT $3"
            ),
            (false, None, None) => {
                concat!(light!(), "WHERE dry_run = 0 ORDER BY id DESC LIMIT $3")
            }
            (false, Some(_), None) => {
                concat!(
                    light!(),
                    "WHERE user_name = $1 AND ($4 OR dry_run = 0) ORDER BY id DESC LIMIT $3"
                )
            }
            (false, None, Some(_)) => {
                concat!(
                    light!(),
                    "WHERE device_id = $2 AND ($4 OR dry_run = 0) ORDER BY id DESC LIMIT $3"
                )
            }
            (false, Some(_), Some(_)) => concat!(
                light!(),
                "WHERE device_id = $2 AND +user_name = $1 AND ($4 OR dry_run = 0) \
                 ORDER BY id DESC LIMIT $3"
            ),
        };
        Ok(sqlx::query_as(sql)
            .bind(user.map(UserName::as_str))
            .bind(device.map(|id| id.to_string()))
            .bind(most)
            .bind(previews)
            .fetch_all(self.reads())
            .await?)
    }
}
