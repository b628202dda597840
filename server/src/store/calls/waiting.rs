//! Calls that wait for their device, calls whose fate only their device knows, and calls for a list.

use orion_domain::{CallId, DeviceId, UserName};

use super::CallRow;
use crate::store::{Store, StoreError};

/// How many calls are read at a time.
const PAGE: i64 = 256;

impl Store {
    /// The next calls that wait for this device, oldest first, after this one.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn queued_calls(
        &self,
        device: DeviceId,
        after: Option<CallId>,
    ) -> Result<Vec<CallId>, StoreError> {
        self.ids(
            "SELECT id FROM calls WHERE device_id = $1 AND id > $2 AND state = 'queued' \
             ORDER BY id LIMIT $3",
            device,
            after,
        )
        .await
    }

    /// The next calls that were sent to this device and whose end is not known, oldest first, after
    /// this one.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn unsettled_calls(
        &self,
        device: DeviceId,
        after: Option<CallId>,
    ) -> Result<Vec<CallId>, StoreError> {
        self.ids(
            "SELECT id FROM calls WHERE device_id = $1 AND id > $2 \
             AND state IN ('dispatched', 'running', 'unknown') ORDER BY id LIMIT $3",
            device,
            after,
        )
        .await
    }

    async fn ids(
        &self,
        sql: &'static str,
        device: DeviceId,
        after: Option<CallId>,
    ) -> Result<Vec<CallId>, StoreError> {
        let ids: Vec<(String,)> = sqlx::query_as(sql)
            .bind(device.to_string())
            .bind(after.map(|id| id.to_string()).unwrap_or_default())
            .bind(PAGE)
            .fetch_all(self.reads())
            .await?;
        ids.into_iter().map(|(id,)| id.parse().map_err(|_| StoreError::Corrupt)).collect()
    }

    /// How many calls wait for this device.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn count_queued(&self, device: DeviceId) -> Result<i64, StoreError> {
        let (count,): (i64,) =
            sqlx::query_as("SELECT COUNT(*) FROM calls WHERE device_id = $1 AND state = 'queued'")
                .bind(device.to_string())
                .fetch_one(self.reads())
                .await?;
        Ok(count)
    }

    /// Calls that have waited for their device for as long as they may, oldest first; at most 256.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn overdue_calls(&self, now: i64) -> Result<Vec<CallRow>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT * FROM calls WHERE state = 'queued' \
             AND COALESCE(queued_until, deadline_at) <= $1 ORDER BY id LIMIT $2",
        )
        .bind(now)
        .bind(PAGE)
        .fetch_all(self.reads())
        .await?)
    }

    /// The newest calls, of one person or all, on one device or all, without arguments and results.
    /// Where `open`, only those that have not ended and those of which nobody knows how.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn newest_calls(
        &self,
        user: Option<&UserName>,
        device: Option<DeviceId>,
        open: bool,
        most: u32,
    ) -> Result<Vec<CallRow>, StoreError> {
        let mut rows: Vec<CallRow> = sqlx::query_as(
            "SELECT * FROM calls WHERE ($1 IS NULL OR user_name = $1) \
             AND ($2 IS NULL OR device_id = $2) \
             AND (NOT $3 OR closed_at IS NULL OR state = 'unknown') ORDER BY id DESC LIMIT $4",
        )
        .bind(user.map(UserName::as_str))
        .bind(device.map(|id| id.to_string()))
        .bind(open)
        .bind(most)
        .fetch_all(self.reads())
        .await?;
        for row in &mut rows {
            row.arguments = Vec::new();
            row.result = None;
        }
        Ok(rows)
    }
}
