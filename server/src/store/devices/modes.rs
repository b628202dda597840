//! Devices in the mode `dangerous`, and until when.

use std::collections::HashMap;

use orion_domain::{DeviceId, DeviceName, UserName};
use serde::Serialize;

use super::lookup;
use crate::store::columns::parsed;
use crate::store::db::{AuditEvent, DecodeError, Durability, FromRow, Row, sql, values};
use crate::store::{Store, StoreError};

/// How many expired modes are ended at a time.
const PAGE: i64 = 100;

/// A device in the mode `dangerous`. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModeRow {
    /// The device.
    pub device: DeviceId,
    /// When it expires.
    pub until: i64,
    /// Who set it.
    pub by: UserName,
    /// When it was set.
    pub at: i64,
    /// The person's reason.
    pub reason: String,
}

impl FromRow for ModeRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            device: parsed(row, "device_id")?,
            until: row.get("until")?,
            by: parsed(row, "set_by")?,
            at: row.get("set_at")?,
            reason: row.get("reason")?,
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
    /// None if the mode expired.
    #[serde(skip_serializing_if = "Option::is_none")]
    by: Option<&'a UserName>,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
}

impl Store {
    /// Puts a device into the mode `dangerous`, or moves the end of the mode.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn begin_dangerous(&self, mode: ModeRow) -> Result<(), StoreError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let device = lookup::by_id(tx, mode.device).await?.ok_or(StoreError::NotFound)?;
                tx.execute(
                    sql("INSERT INTO device_modes (device_id, until, set_by, set_at, reason) \
                     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (device_id) DO UPDATE \
                     SET until = $2, set_by = $3, set_at = $4, reason = $5")
                    .with(values![
                        mode.device,
                        mode.until,
                        mode.by.as_str(),
                        mode.at,
                        &mode.reason
                    ]),
                )
                .await?;
                let body = ModeStartedEvent {
                    device_id: mode.device,
                    name: &device.name,
                    mode: "dangerous",
                    until: mode.until,
                    by: &mode.by,
                    reason: &mode.reason,
                };
                tx.record(AuditEvent::new(mode.at, "device.mode_began", String::new(), &body)?);
                Ok(())
            })
        })
        .await
    }

    /// Puts a device back into the mode `safe`. Returns `false` if it is in it already.
    ///
    /// # Errors
    /// The database cannot be written.
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
                let done = tx
                    .execute(sql("DELETE FROM device_modes WHERE device_id = $1").bind(device))
                    .await?;
                if done == 0 {
                    return Ok(false);
                }
                let body = ModeEndedEvent {
                    device_id: device,
                    mode: "safe",
                    by: Some(&by),
                    reason: &reason,
                };
                tx.record(AuditEvent::new(now, "device.mode_ended", String::new(), &body)?);
                Ok(true)
            })
        })
        .await
    }

    /// Ends expired modes, at most 100 at a time, and returns the devices.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn end_modes_that_are_over(&self, now: i64) -> Result<Vec<DeviceId>, StoreError> {
        let over = "SELECT device_id FROM device_modes WHERE until <= $1 LIMIT $2";
        // Usually there is none, and the writer is not used.
        let is_due = self.db().exists(sql(over).bind(now).bind(PAGE)).await?;
        if !is_due {
            return Ok(Vec::new());
        }
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let rows = tx.rows(sql(over).bind(now).bind(PAGE)).await?;
                let mut ended = Vec::with_capacity(rows.len());
                for row in &rows {
                    let device: DeviceId = parsed(row, "device_id")?;
                    tx.execute(sql("DELETE FROM device_modes WHERE device_id = $1").bind(device))
                        .await?;
                    let body =
                        ModeEndedEvent { device_id: device, mode: "safe", by: None, reason: "" };
                    tx.record(AuditEvent::new(now, "device.mode_ended", String::new(), &body)?);
                    ended.push(device);
                }
                Ok(ended)
            })
        })
        .await
    }

    /// Returns the devices in the mode `dangerous`.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn device_modes(&self) -> Result<HashMap<DeviceId, ModeRow>, StoreError> {
        let rows: Vec<ModeRow> = self.db().query(sql("SELECT * FROM device_modes")).await?;
        Ok(rows.into_iter().map(|row| (row.device, row)).collect())
    }

    /// Returns the mode of a device. None unless it is `dangerous`.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn device_mode(&self, device: DeviceId) -> Result<Option<ModeRow>, StoreError> {
        self.db()
            .query_optional(sql("SELECT * FROM device_modes WHERE device_id = $1").bind(device))
            .await
    }
}
