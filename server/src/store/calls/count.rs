//! What a person did on a device before: what rules with a limit count.

use orion_domain::{CallId, DeviceId, UserName};
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

use crate::store::{Store, StoreError};

/// An earlier call that was let through.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// The tool.
    pub tool: String,
    /// Canonical JSON.
    pub arguments: Vec<u8>,
    /// When it was made, Unix milliseconds.
    pub created_at: i64,
}

impl FromRow<'_, SqliteRow> for Admitted {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            tool: row.try_get("tool")?,
            arguments: row.try_get("arguments")?,
            created_at: row.try_get("created_at")?,
        })
    }
}

impl Store {
    /// The calls of a person on a device since a moment that were let through: neither denied nor
    /// previews, nor waiting, nor this one. The newest `most` of them, newest first.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn admitted_calls(
        &self,
        user: &UserName,
        device: DeviceId,
        since: i64,
        but: CallId,
        most: u32,
    ) -> Result<Vec<Admitted>, StoreError> {
        Ok(sqlx::query_as(
            "SELECT tool, arguments, created_at FROM calls \
             WHERE user_name = $1 AND device_id = $2 AND created_at >= $3 AND id <> $4 \
             AND dry_run = 0 AND state NOT IN ('received', 'denied', 'awaiting_approval') \
             ORDER BY created_at DESC LIMIT $5",
        )
        .bind(user.as_str())
        .bind(device.to_string())
        .bind(since)
        .bind(but.to_string())
        .bind(most)
        .fetch_all(self.reads())
        .await?)
    }
}
