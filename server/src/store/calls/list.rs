//! Lists of calls.

use orion_domain::{DeviceId, UserName};

use super::CallRow;
use crate::store::db::{DecodeError, FromRow, Row, sql, values};
use crate::store::{Store, StoreError};

/// Selects calls, without the columns that may be large; `more` are further columns, each after a comma.
macro_rules! light {
    ($more:literal) => {
        concat!(
            "SELECT calls.id, calls.user_name, calls.role, calls.conversation_id, calls.device_id, \
         calls.device_name, calls.tool, NULL AS arguments, NULL AS secrets, calls.arguments_digest, calls.dry_run, \
         calls.recovered, calls.tainted, calls.quoted, calls.content_raises, calls.turn_id, \
         CASE WHEN LENGTH(calls.touches_json) <= 2000 THEN calls.touches_json \
         ELSE json_array(SUBSTR(json_extract(calls.touches_json, '$[0]'), 1, 300) || ' and ' || \
         (json_array_length(calls.touches_json) - 1) || ' more') END AS touches_json, \
         calls.decision, \
         calls.rule, calls.policy_version, calls.risk, calls.undo_json, calls.has_effects, \
         calls.state, calls.history, calls.idempotency_key, calls.plan_id, calls.deadline_at, \
         calls.queued_until, calls.created_at, calls.approval_id, calls.code, NULL AS result, \
         calls.duration_us, calls.closed_at, calls.token_hash",
            $more,
            " FROM calls "
        )
    };
}
pub(super) use light;

/// Selects calls as [`light`] does, and whether each was taken back.
macro_rules! listed {
    () => {
        light!(
            ", EXISTS (SELECT 1 FROM calls AS undoing WHERE undoing.undo_json IS NOT NULL \
             AND json_extract(undoing.undo_json, '$.call') = +calls.id \
             AND undoing.state = 'succeeded' AND NOT undoing.dry_run) AS undone"
        )
    };
}

/// A call of a list.
#[derive(Debug, Clone, PartialEq)]
pub struct ListedCall {
    /// The call, without arguments and result.
    pub call: CallRow,
    /// Whether a later call took it back.
    pub undone: bool,
}

impl FromRow for ListedCall {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self { call: CallRow::from_row(row)?, undone: row.get("undone")? })
    }
}

impl Store {
    /// Returns the newest calls, of one person or all, on one device or all, without arguments and results.
    /// With `open`, only calls that are open or whose outcome is unknown. Previews only with `previews`.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn newest_calls(
        &self,
        user: Option<&UserName>,
        device: Option<DeviceId>,
        open: bool,
        previews: bool,
        most: u32,
    ) -> Result<Vec<ListedCall>, StoreError> {
        self.db().flush().await?;
        // Open calls are few. The other queries have an index each; for one person on one device, the
        // device's calls are filtered in the index alone.
        let text = match (open, user, device) {
            (false, None, None) if previews => concat!(listed!(), "ORDER BY id DESC LIMIT $3"),
            (true, ..) => concat!(
                listed!(),
                "WHERE (closed_at IS NULL OR state = 'unknown') \
                 AND ($1 IS NULL OR user_name = $1) AND ($2 IS NULL OR device_id = $2) \
                 AND ($4 OR NOT dry_run) ORDER BY +id DESC LIMIT $3"
            ),
            (false, None, None) => {
                concat!(listed!(), "WHERE NOT dry_run ORDER BY id DESC LIMIT $3")
            }
            (false, Some(_), None) => {
                concat!(
                    listed!(),
                    "WHERE user_name = $1 AND ($4 OR NOT dry_run) ORDER BY id DESC LIMIT $3"
                )
            }
            (false, None, Some(_)) => {
                concat!(
                    listed!(),
                    "WHERE device_id = $2 AND ($4 OR NOT dry_run) ORDER BY id DESC LIMIT $3"
                )
            }
            (false, Some(_), Some(_)) => concat!(
                listed!(),
                "WHERE device_id = $2 AND +user_name = $1 AND ($4 OR NOT dry_run) \
                 ORDER BY id DESC LIMIT $3"
            ),
        };
        self.db()
            .query(sql(text).with(values![user.map(UserName::as_str), device, most, previews]))
            .await
    }
}
