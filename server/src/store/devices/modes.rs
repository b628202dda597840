//! Devices that are not held strictly for a while.

use std::collections::HashMap;

use orion_domain::{DeviceId, DeviceName, UserName};
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

use super::lookup;
use crate::store::row::parsed;
use crate::store::writer::{Durability, Event};
use crate::store::{Store, StoreError};

/// How many modes that are over are ended at a time.
const ENDED: i64 = 100;

/// A device in the mode `dangerous`. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeRow {
    /// Which.
    pub device: DeviceId,
    /// When it ends by itself.
    pub until: i64,
    /// Who said so.
    pub by: UserName,
    /// When.
    pub at: i64,
    /// Why.
    pub reason: String,
}

impl FromRow<'_, SqliteRow> for ModeRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            device: parsed(row, "device_id")?,
            until: row.try_get("until")?,
            by: parsed(row, "set_by")?,
            at: row.try_get("set_at")?,
            reason: row.try_get("reason")?,
        })
    }
}

#[derive(Serialize)]
struct ModeStartedEvent<'a> {
    device_id: DeviceId,
    name: &'a DeviceName,
    mode: &'static str,
    until: i64,
    by: &'a UserName,
    reason: &'a str,
}

#[derive(Serialize)]
struct ModeEndedEvent<'a> {
    device_id: DeviceId,
    mode: &'static str,
    /// Absent where its time was over.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a UserName>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
}

impl Store {
    /// Puts a device into the mode `dangerous`, or moves its end.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn begin_dangerous(&self, mode: ModeRow) -> Result<(), StoreError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let device = lookup::by_id(tx, mode.device).await?.ok_or(StoreError::NotFound)?;
                sqlx::query(
                    "INSERT OR REPLACE INTO device_modes (device_id, until, set_by, set_at, reason) \
                     VALUES ($1, $2, $3, $4, $5)",
                )
                .bind(mode.device.to_string())
                .bind(mode.until)
                .bind(mode.by.as_str())
                .bind(mode.at)
                .bind(&mode.reason)
                .execute(&mut tx.conn)
                .await?;
                let body = ModeStartedEvent {
                    device_id: mode.device,
                    name: &device.name,
                    mode: "dangerous",
                    until: mode.until,
                    by: &mode.by,
                    reason: &mode.reason,
                };
                tx.record(Event::new(mode.at, "device.mode_began", String::new(), &body)?);
                Ok(())
            })
        })
        .await
    }

    /// Puts a device back into the mode `safe`; `false` where it was in it.
    ///
    /// # Errors
    /// The record cannot be kept.
    pub async fn end_dangerous(
        &self,
        device: DeviceId,
        by: &UserName,
        reason: &str,
        now: i64,
    ) -> Result<bool, StoreError> {
        let (by, reason) = (by.clone(), reason.to_owned());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let done = sqlx::query("DELETE FROM device_modes WHERE device_id = $1")
                    .bind(device.to_string())
                    .execute(&mut tx.conn)
                    .await?;
                if done.rows_affected() == 0 {
                    return Ok(false);
                }
                let body = ModeEndedEvent {
                    device_id: device,
                    mode: "safe",
                    by: Some(&by),
                    reason: &reason,
                };
                tx.record(Event::new(now, "device.mode_ended", String::new(), &body)?);
                Ok(true)
            })
        })
        .await
    }

    /// Ends the modes whose time is over, at most 100 at a time, and gives the devices.
    ///
    /// # Errors
    /// The record cannot be kept.
    pub async fn end_modes_that_are_over(&self, now: i64) -> Result<Vec<DeviceId>, StoreError> {
        let over = "SELECT device_id FROM device_modes WHERE until <= $1 LIMIT $2";
        // Mostly there is none, and then the writer is left alone.
        let any = sqlx::query(over).bind(now).bind(ENDED).fetch_optional(self.reads()).await?;
        if any.is_none() {
            return Ok(Vec::new());
        }
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let rows = sqlx::query(over).bind(now).bind(ENDED).fetch_all(&mut tx.conn).await?;
                let mut ended = Vec::with_capacity(rows.len());
                for row in &rows {
                    let device: DeviceId = parsed(row, "device_id")?;
                    sqlx::query("DELETE FROM device_modes WHERE device_id = $1")
                        .bind(device.to_string())
                        .execute(&mut tx.conn)
                        .await?;
                    let body =
                        ModeEndedEvent { device_id: device, mode: "safe", by: None, reason: "" };
                    tx.record(Event::new(now, "device.mode_ended", String::new(), &body)?);
                    ended.push(device);
                }
                Ok(ended)
            })
        })
        .await
    }

    /// The devices that are in the mode `dangerous`.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn device_modes(&self) -> Result<HashMap<DeviceId, ModeRow>, StoreError> {
        let rows: Vec<ModeRow> =
            sqlx::query_as("SELECT * FROM device_modes").fetch_all(self.reads()).await?;
        Ok(rows.into_iter().map(|row| (row.device, row)).collect())
    }

    /// Since when, by whom and until when a device is in the mode `dangerous`, if it is.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn device_mode(&self, device: DeviceId) -> Result<Option<ModeRow>, StoreError> {
        Ok(sqlx::query_as("SELECT * FROM device_modes WHERE device_id = $1")
            .bind(device.to_string())
            .fetch_optional(self.reads())
            .await?)
    }
}
