//! Finds a call.

use orion_domain::{CallId, DeviceId, UserName};

use super::CallRow;
use crate::store::columns::{id_range, only};
use crate::store::db::{sql, values};
use crate::store::{Store, StoreError};

/// How many ids with the same prefix are searched for the one call that is no preview.
const MAX_SAME_PREFIX: u8 = 8;

impl Store {
    /// Returns a call.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn call(&self, id: CallId) -> Result<CallRow, StoreError> {
        self.db().flush().await?;
        self.db().query_one(sql("SELECT * FROM calls WHERE id = $1").bind(id)).await
    }

    /// Returns a call by its id or a prefix of the id, as people give it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Ambiguous`] if several ids have this prefix.
    pub async fn find_call(&self, id: &str) -> Result<CallRow, StoreError> {
        let (from, to) = id_range(id).ok_or(StoreError::NotFound)?;
        self.db().flush().await?;
        let ids = sql("SELECT id, dry_run FROM calls WHERE id >= $1 AND id < $2 LIMIT $3");
        let ids = ids.with(values![from, to, MAX_SAME_PREFIX]);
        let mut ids: Vec<(String, bool)> = self.db().query(ids).await?;
        // A call and its previews of the same millisecond share a prefix.
        let is_call = |(_, dry_run): &(String, bool)| !dry_run;
        if ids.len() < usize::from(MAX_SAME_PREFIX) && ids.iter().any(is_call) {
            ids.retain(is_call);
        }
        let (id, _) = only(ids)?;
        self.db().query_one(sql("SELECT * FROM calls WHERE id = $1").bind(id)).await
    }

    /// Returns the call that took this one back, and who made it. None if none did.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn undone_by(&self, id: CallId) -> Result<Option<(CallId, UserName)>, StoreError> {
        self.db().flush().await?;
        let undo = sql("SELECT id, user_name FROM calls \
             WHERE undo_json IS NOT NULL AND json_extract(undo_json, '$.call') = $1 \
             AND state = 'succeeded' AND NOT dry_run ORDER BY id DESC LIMIT 1");
        let undo: Option<(String, String)> = self.db().query_optional(undo.bind(id)).await?;
        let Some((id, user)) = undo else { return Ok(None) };
        let parsed = id.parse().ok().zip(user.parse().ok());
        parsed.map(Some).ok_or(StoreError::Corrupt)
    }

    /// Returns the device of a call. None if the call has no device.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn call_device(&self, id: CallId) -> Result<Option<DeviceId>, StoreError> {
        self.db().flush().await?;
        let device = sql("SELECT device_id FROM calls WHERE id = $1").bind(id);
        let (device,): (Option<String>,) = self.db().query_one(device).await?;
        device.map(|text| text.parse().map_err(|_| StoreError::Corrupt)).transpose()
    }

    /// Returns the open calls of a device, oldest first; at most 1,000.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn open_calls_of_device(&self, device: DeviceId) -> Result<Vec<CallRow>, StoreError> {
        self.db().flush().await?;
        let open = "SELECT * FROM calls WHERE device_id = $1 AND closed_at IS NULL \
            ORDER BY id LIMIT 1000";
        self.db().query(sql(open).bind(device)).await
    }
}
