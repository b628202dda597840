//! Queries that find devices.

use orion_domain::DeviceId;

use super::DeviceRow;
use crate::store::columns::{id_range, only};
use crate::store::db::{Tx, sql};
use crate::store::{Store, StoreError};

/// The minimum length of an id prefix that finds a device; shorter ones match other devices too easily.
const MIN_PREFIX: usize = 6;
/// The limit of listed devices.
const MAX_LISTED: i64 = 100_000;

/// Returns a device, inside a transaction.
pub(super) async fn by_id(tx: &mut Tx, id: DeviceId) -> Result<Option<DeviceRow>, StoreError> {
    tx.query_optional(sql("SELECT * FROM devices WHERE id = $1").bind(id)).await
}

impl Store {
    /// Returns a device by its name, its id or a prefix of its id. A name means the active device with this
    /// name, or else the last one that had it and is still listed, or else the last one that had it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Ambiguous`] if several ids have this prefix.
    pub async fn device(&self, device: &str) -> Result<DeviceRow, StoreError> {
        // A full id is never a name: no device can take another device's id as its name.
        if let Ok(id) = device.parse() {
            return self.device_by_id(id).await;
        }
        let named: Option<DeviceRow> = self
            .db()
            .query_optional(
                sql("SELECT * FROM devices WHERE id = COALESCE(\
             (SELECT id FROM devices WHERE name = $1 AND state NOT IN ('rejected', 'revoked')), \
             (SELECT id FROM devices WHERE name = $1 \
             ORDER BY removed_at IS NULL DESC, created_at DESC LIMIT 1))")
                .bind(device),
            )
            .await?;
        if let Some(named) = named {
            return Ok(named);
        }
        let (from, to) =
            id_range(device).filter(|_| device.len() >= MIN_PREFIX).ok_or(StoreError::NotFound)?;
        let rows = self
            .db()
            .query(
                sql("SELECT * FROM devices WHERE id >= $1 AND id < $2 LIMIT 2").bind(from).bind(to),
            )
            .await?;
        only(rows)
    }

    /// Returns a device by its full id.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn device_by_id(&self, id: DeviceId) -> Result<DeviceRow, StoreError> {
        self.db().query_one(sql("SELECT * FROM devices WHERE id = $1").bind(id)).await
    }

    /// Returns the devices that are not removed, by name; with `pending_only` those that wait for an admin. At most 100,000.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn devices(&self, pending_only: bool) -> Result<Vec<DeviceRow>, StoreError> {
        let text = if pending_only {
            "SELECT * FROM devices WHERE state = 'pending' ORDER BY name, created_at LIMIT $1"
        } else {
            "SELECT * FROM devices WHERE removed_at IS NULL ORDER BY name, created_at LIMIT $1"
        };
        self.db().query(sql(text).bind(MAX_LISTED)).await
    }
}
