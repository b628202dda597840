//! Devices whose stored state was found to be older or another device's: until when their reports about
//! calls that they do not know are not trusted.

use orion_domain::DeviceId;

use crate::store::db::{Batch, Durability, Statement, sql};
use crate::store::{Store, StoreError};

impl Store {
    /// Records that a device's stored state was found to be older, or another device's. The device may have
    /// lost any call that was sent to it up to this moment, whatever clock set the time of the call.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn device_forgot(&self, id: DeviceId, now: i64) -> Result<(), StoreError> {
        // Repeated reports of the same loss do not write, so nobody waits for the disk.
        self.db().flush().await?;
        let has_changed: Option<(bool,)> = self
            .db()
            .query_optional(
                sql("SELECT forgot_at IS NULL OR EXISTS (SELECT 1 FROM calls WHERE \
                 device_id = devices.id AND (closed_at IS NULL OR state = \
                 'unknown') AND state IN ('dispatched', 'running', 'unknown') \
                 AND COALESCE(admitted_at, $2) > devices.forgot_at) FROM \
                 devices WHERE id = $1")
                .bind(id)
                .bind(now),
            )
            .await?;
        if !has_changed.is_some_and(|(has_changed,)| has_changed) {
            return Ok(());
        }
        self.db().apply(Batch::new(Durability::Fsync).statement(forget(id, now))).await.map(drop)
    }

    /// Returns the last time, Unix milliseconds, whose calls the device may have lost. None if it lost
    /// nothing.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn forgot_at(&self, id: DeviceId) -> Result<Option<i64>, StoreError> {
        let (at,): (Option<i64>,) = self
            .db()
            .query_one(sql("SELECT forgot_at FROM devices WHERE id = $1").bind(id))
            .await?;
        Ok(at)
    }
}

/// Returns the statement that records the loss.
pub(super) fn forget(id: DeviceId, now: i64) -> Statement {
    sql("UPDATE devices SET forgot_at = MAX(COALESCE(forgot_at, 0), $1, \
         COALESCE((SELECT MAX(admitted_at) FROM calls WHERE device_id = $2 \
         AND (closed_at IS NULL OR state = 'unknown') \
         AND state IN ('dispatched', 'running', 'unknown')), 0)) WHERE id = $2")
    .bind(now)
    .bind(id)
}
