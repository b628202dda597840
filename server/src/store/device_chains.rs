//! The last known heads of the devices' own audit chains.

use orion_domain::DeviceId;
use orion_domain::audit::AuditHead;

use super::columns::{digest, parsed};
use super::db::{DecodeError, Durability, FromRow, Row, sql, values};
use super::{Store, StoreError};

/// The last known head of a device's own chain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceChainRow {
    /// The device.
    pub device: DeviceId,
    /// The head.
    pub head: AuditHead,
    /// What did not match. Empty if everything matched.
    pub problem: String,
    /// When that was noticed, Unix milliseconds. None if everything matched.
    pub problem_at: Option<i64>,
}

impl FromRow for DeviceChainRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            device: parsed(row, "device_id")?,
            head: AuditHead { seq: row.get("seq")?, hash: digest(row, "hash")? },
            problem: row.get("problem")?,
            problem_at: row.get("problem_at")?,
        })
    }
}

impl Store {
    /// Returns the last known heads of all devices' chains.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn device_chains(&self) -> Result<Vec<DeviceChainRow>, StoreError> {
        let text = "SELECT device_id, seq, hash, problem, problem_at FROM device_chains";
        self.db().query(sql(text)).await
    }

    /// Stores the heads of these devices' chains.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn keep_device_chains(
        &self,
        rows: Vec<DeviceChainRow>,
        now: i64,
    ) -> Result<(), StoreError> {
        self.write(Durability::Commit, move |tx| {
            Box::pin(async move {
                for DeviceChainRow { device, head, problem, problem_at } in rows {
                    tx.execute(
                        sql("INSERT INTO device_chains (device_id, seq, hash, at, problem, \
                 problem_at) VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT \
                 (device_id) DO UPDATE SET seq = $2, hash = $3, at = $4, \
                 problem = $5, problem_at = $6")
                        .with(values![device, head.seq, head.hash, now, problem, problem_at]),
                    )
                    .await?;
                }
                Ok(())
            })
        })
        .await
    }
}
