//! Calls that a stop covers.

use orion_domain::CallId;

use super::CallRow;
use super::list::light;
use crate::store::db::{sql, values};
use crate::store::{StopScope, Store, StoreError};

/// How many calls are read at a time.
const PAGE: i64 = 256;

impl Store {
    /// Returns the next calls that a stop covers and that have not ended, after `after`, without arguments. Those
    /// are open calls and calls that became unknown after `since`, Unix milliseconds.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn covered_calls(
        &self,
        scope: &StopScope,
        after: Option<CallId>,
        since: i64,
    ) -> Result<Vec<CallRow>, StoreError> {
        self.db().flush().await?;
        let text = concat!(
            light!(""),
            "WHERE (closed_at IS NULL OR state = 'unknown') \
             AND (closed_at IS NULL OR closed_at > $1) AND ($2 IS NULL OR user_name = $2) \
             AND ($3 IS NULL OR device_id = $3) AND +id > $4 ORDER BY +id LIMIT $5"
        );
        let after = after.map(|id| id.to_string()).unwrap_or_default();
        let covered = values![since, scope.user.as_ref(), scope.device, after, PAGE];
        self.db().query(sql(text).with(covered)).await
    }
}
