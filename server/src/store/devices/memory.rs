//! Devices whose stored state was found to be older or another device's: until when their reports about
//! calls that they do not know are not trusted.

use orion_domain::DeviceId;

use crate::store::writer::{Durability, Tx};
use crate::store::{Store, StoreError};

impl Store {
    /// Records that a device's stored state was found to be older, or another device's. The device may have
    /// lost any call that was sent to it up to this moment, whatever clock set the time of the call.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn device_forgot(&self, id: DeviceId, now: i64) -> Result<(), StoreError> {
        // Repeated reports of the same loss do not write, so nobody waits for the disk.
        let has_changed: Option<(bool,)> = sqlx::query_as(
            "SELECT forgot_at IS NULL OR EXISTS (SELECT 1 FROM calls WHERE device_id = devices.id \
             AND state IN ('dispatched', 'running', 'unknown') \
             AND COALESCE(admitted_at, $2) > devices.forgot_at) FROM devices WHERE id = $1",
        )
        .bind(id.to_string())
        .bind(now)
        .fetch_optional(self.reads())
        .await?;
        if !has_changed.is_some_and(|(has_changed,)| has_changed) {
            return Ok(());
        }
        self.write_one(Durability::Fsync, move |tx| Box::pin(forget(tx, id, now))).await
    }

    /// Returns the last time, Unix milliseconds, whose calls the device may have lost. None if it lost
    /// nothing.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn forgot_at(&self, id: DeviceId) -> Result<Option<i64>, StoreError> {
        let (at,): (Option<i64>,) = sqlx::query_as("SELECT forgot_at FROM devices WHERE id = $1")
            .bind(id.to_string())
            .fetch_one(self.reads())
            .await?;
        Ok(at)
    }
}

/// Records the loss, inside a transaction.
pub(super) async fn forget(tx: &mut Tx, id: DeviceId, now: i64) -> Result<(), StoreError> {
    sqlx::query(
        "UPDATE devices SET forgot_at = MAX(COALESCE(forgot_at, 0), $1, \
         COALESCE((SELECT MAX(admitted_at) FROM calls WHERE device_id = $2 \
         AND state IN ('dispatched', 'running', 'unknown')), 0)) WHERE id = $2",
    )
    .bind(now)
    .bind(id.to_string())
    .execute(&mut tx.conn)
    .await?;
    Ok(())
}
