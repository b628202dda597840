//! Queued calls, which wait for their device.

use orion_domain::{CallId, CallState, DeviceId};

use super::advance::advance;
use super::list::light;
use super::{CallRow, NewCall, sources};
use crate::store::db::{Statement, Tx, sql, values};
use crate::store::{Store, StoreError};

/// How many calls are read at a time.
const PAGE: i64 = 256;

/// The limits of queued calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueueLimits {
    /// For one device.
    pub per_device: u32,
    /// For one person, on all devices together.
    pub per_person: u32,
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
        let (of_device, of_person): (i64, i64) = tx
            .query_one(
                sql("SELECT (SELECT COUNT(*) FROM calls WHERE device_id = $1 AND \
                 state = 'queued'), (SELECT COUNT(*) FROM calls WHERE user_name \
                 = $2 AND state = 'queued')")
                .bind(device)
                .bind(user),
            )
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
        self.open_calls().change(id);
        self.write(self.open_calls().durability_of(id), move |tx| {
            Box::pin(async move {
                // A call that is queued already must not count twice.
                let found = sql("SELECT device_id, user_name FROM calls \
                     WHERE id = $1 AND state IN ($2, $3, $4, $5, $6, $7)")
                .bind(id);
                let sources = sources(CallState::Queued, |_| true);
                let found = sources.into_iter().fold(found, Statement::bind);
                let found: Option<(Option<String>, String)> = tx.query_optional(found).await?;
                let Some((device, user)) = found else { return Ok(Ok(false)) };
                if let Err(full) = limits.room_for(tx, device, &user).await? {
                    return Ok(Err(full));
                }
                advance(tx, id, CallState::Queued, now).await.map(Ok)
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
        let ids: Vec<(String,)> = self
            .db()
            .query(
                sql("SELECT id FROM calls WHERE device_id = $1 AND id > $2 AND state = 'queued' \
             ORDER BY id LIMIT $3")
                .with(values![device, after.map(|id| id.to_string()).unwrap_or_default(), PAGE]),
            )
            .await?;
        ids.into_iter().map(|(id,)| id.parse().map_err(|_| StoreError::Corrupt)).collect()
    }

    /// Returns queued calls whose waiting time or whose approval has expired, oldest first, without
    /// arguments; at most 256.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn overdue_calls(&self, now: i64) -> Result<Vec<CallRow>, StoreError> {
        let text = concat!(
            light!(""),
            "WHERE id IN (SELECT id FROM calls \
             WHERE state = 'queued' AND COALESCE(queued_until, deadline_at) <= $1 \
             UNION ALL SELECT calls.id FROM calls CROSS JOIN approvals \
             ON approvals.id = calls.approval_id WHERE calls.state = 'queued' \
             AND calls.approval_id IS NOT NULL AND approvals.expires_at <= $1) \
             ORDER BY id LIMIT $2"
        );
        self.db().query(sql(text).bind(now).bind(PAGE)).await
    }
}
