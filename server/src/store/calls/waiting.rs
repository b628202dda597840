//! Calls that wait for their device, calls whose fate only their device knows, and calls for a list.

use orion_domain::{CallId, DeviceId, UserName};
use sqlx::AssertSqlSafe;

use super::CallRow;
use crate::store::{Store, StoreError};

/// How many calls are read at a time.
const PAGE: i64 = 256;

/// A row without what may be large.
const LIGHT: &str = "calls.id, calls.user_name, calls.role, calls.conversation_id, calls.device_id, \
    calls.device_name, calls.tool, x'' AS arguments, calls.arguments_digest, calls.dry_run, \
    calls.recovered, calls.tainted, calls.quoted, '[]' AS touches_json, calls.decision, calls.rule, \
    calls.policy_version, calls.risk, calls.has_effects, calls.state, calls.history, \
    calls.idempotency_key, calls.plan_id, calls.deadline_at, calls.queued_until, calls.created_at, \
    calls.approval_id, calls.code, NULL AS result, calls.duration_us, calls.closed_at";

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

    /// Calls that have waited for their device for as long as they may, or longer than the yes that they
    /// have, oldest first, without arguments; at most 256.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn overdue_calls(&self, now: i64) -> Result<Vec<CallRow>, StoreError> {
        let sql = format!(
            "SELECT {LIGHT} FROM calls LEFT JOIN approvals ON approvals.id = calls.approval_id \
             WHERE calls.state = 'queued' AND (COALESCE(queued_until, deadline_at) <= $1 \
             OR approvals.expires_at <= $1) ORDER BY calls.id LIMIT $2"
        );
        Ok(sqlx::query_as(AssertSqlSafe(sql)).bind(now).bind(PAGE).fetch_all(self.reads()).await?)
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
        // Written as the index on them has it.
        let open = if open { "(closed_at IS NULL OR state = 'unknown') AND" } else { "" };
        let sql = format!(
            "SELECT {LIGHT} FROM calls WHERE {open} ($1 IS NULL OR user_name = $1) \
             AND ($2 IS NULL OR device_id = $2) ORDER BY id DESC LIMIT $3"
        );
        Ok(sqlx::query_as(AssertSqlSafe(sql))
            .bind(user.map(UserName::as_str))
            .bind(device.map(|id| id.to_string()))
            .bind(most)
            .fetch_all(self.reads())
            .await?)
    }
}
