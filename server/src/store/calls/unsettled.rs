//! Calls that were sent and whose outcome only their device knows.

use orion_domain::{CallId, DeviceId};

use crate::store::db::{sql, values};
use crate::store::{Store, StoreError};

/// How many calls are read at a time.
const PAGE: i64 = 256;

/// The condition that a call's device still has to report its outcome. $1 is the time after which the call
/// became unknown, if it did.
macro_rules! is_unsettled {
    () => {
        "(closed_at IS NULL OR state = 'unknown') AND state IN ('dispatched', 'running', 'unknown') \
         AND (closed_at IS NULL OR (closed_at > $1 AND NOT device_reported_unknown))"
    };
}

/// A call that was sent and whose outcome only its device knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UnreconciledCall {
    /// Its id.
    pub id: CallId,
    /// Whether a person asked to cancel it.
    pub is_stopped: bool,
}

impl Store {
    /// Returns the next calls that were sent to this device and whose outcome it still has to report,
    /// oldest first, after `after`. Those are open calls and calls that became unknown after `since`, Unix
    /// milliseconds.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn unsettled_calls(
        &self,
        device: DeviceId,
        after: Option<CallId>,
        since: i64,
    ) -> Result<Vec<UnreconciledCall>, StoreError> {
        self.db().flush().await?;
        let text = concat!(
            "SELECT id, cancel_requested_at IS NOT NULL FROM calls \
             WHERE device_id = $2 AND id > $3 AND ",
            is_unsettled!(),
            " ORDER BY id LIMIT $4"
        );
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        let rows = sql(text).with(values![since, device, after, PAGE]);
        let rows: Vec<(String, bool)> = self.db().query(rows).await?;
        let unsettled = |(id, is_stopped): (String, bool)| {
            let id = id.parse().map_err(|_| StoreError::Corrupt)?;
            Ok(UnreconciledCall { id, is_stopped })
        };
        rows.into_iter().map(unsettled).collect()
    }

    /// Returns the devices with unsettled calls.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn devices_with_unsettled_calls(
        &self,
        since: i64,
    ) -> Result<Vec<DeviceId>, StoreError> {
        self.db().flush().await?;
        let text = concat!(
            "SELECT DISTINCT device_id FROM calls WHERE device_id IS NOT NULL AND ",
            is_unsettled!()
        );
        let ids: Vec<(String,)> = self.db().query(sql(text).bind(since)).await?;
        ids.into_iter().map(|(id,)| id.parse().map_err(|_| StoreError::Corrupt)).collect()
    }

    /// Returns whether a call waits for this device, or was sent to it and has no known outcome.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn has_open_calls(&self, device: DeviceId) -> Result<bool, StoreError> {
        self.db().flush().await?;
        let (any,): (bool,) = self
            .db()
            .query_one(
                sql("SELECT EXISTS (SELECT 1 FROM calls WHERE device_id = $1 AND \
                 state = 'queued') OR EXISTS (SELECT 1 FROM calls WHERE \
                 device_id = $1 AND (closed_at IS NULL OR state = 'unknown') \
                 AND state IN ('dispatched', 'running', 'unknown'))")
                .bind(device),
            )
            .await?;
        Ok(any)
    }
}
