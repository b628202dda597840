//! What a device remembers may be another's, or of before: until when its word of what it never saw is
//! not believed.

use orion_domain::DeviceId;

use crate::store::writer::{Durability, Tx};
use crate::store::{Store, StoreError};

impl Store {
    /// Notes that a device's state was found to be an older one, or another's. Of every call that was sent
    /// to it up to now, whatever clock said so, it may have forgotten that it ran.
    ///
    /// # Errors
    /// The record cannot be kept.
    pub async fn device_forgot(&self, id: DeviceId, now: i64) -> Result<(), StoreError> {
        // A device that says so again and again makes nobody wait for the disk.
        let is_news: Option<(bool,)> = sqlx::query_as(
            "SELECT forgot_at IS NULL OR EXISTS (SELECT 1 FROM calls WHERE device_id = devices.id \
             AND state IN ('dispatched', 'running', 'unknown') \
             AND COALESCE(admitted_at, $2) > devices.forgot_at) FROM devices WHERE id = $1",
        )
        .bind(id.to_string())
        .bind(now)
        .fetch_optional(self.reads())
        .await?;
        if !is_news.is_some_and(|(is_news,)| is_news) {
            return Ok(());
        }
        self.write_one(Durability::Fsync, move |tx| Box::pin(forget(tx, id, now))).await
    }

    /// The last moment, Unix milliseconds, of which the device may have forgotten what it ran; none where
    /// it forgot nothing.
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

/// See [`Store::device_forgot`].
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
