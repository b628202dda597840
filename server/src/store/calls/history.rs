//! Recorded calls, oldest first, with what a new evaluation of them needs.

use orion_domain::{CallId, Caller, ContentRaise, DeviceId, Undo};

use crate::store::columns::{json_option, parsed, parsed_option, signed};
use crate::store::db::{DecodeError, FromRow, Row, sql, values};
use crate::store::{Store, StoreError};

/// How many calls are read at a time.
const PAGE: i64 = 1000;
/// How many bytes of arguments are read at a time; a single larger call is read alone.
const PAGE_BYTES: i64 = 8 * 1024 * 1024;

/// Selects one page of calls, up to its limit of bytes.
macro_rules! recorded {
    ($of:literal) => {
        concat!(
            "SELECT id, user_name, role, conversation_id, device_id, tool, undo_json, arguments, dry_run, \
             tainted, content_raises, decision, created_at, admitted_at IS NOT NULL AS was_admitted \
             FROM (SELECT page_id, SUM(size) OVER (ORDER BY page_id) AS bytes, \
             ROW_NUMBER() OVER (ORDER BY page_id) AS place FROM (SELECT id AS page_id, \
             LENGTH(arguments) AS size FROM calls ",
            $of,
            " AND NOT is_own_preview ORDER BY id LIMIT $3)) \
             CROSS JOIN calls ON id = page_id WHERE bytes <= $4 OR place = 1 ORDER BY page_id"
        )
    };
}

/// A recorded call, as it was requested.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedCall {
    /// Its id.
    pub id: CallId,
    /// The person, the role and the chat of the request.
    pub caller: Caller,
    /// The device. None if no device was found.
    pub device: Option<DeviceId>,
    /// The tool's name.
    pub tool: String,
    /// The change that the call undid or redid. None for other calls.
    pub undo: Option<Undo>,
    /// JSON; canonical unless the call was rejected before its arguments were validated.
    pub arguments: Vec<u8>,
    /// Whether only a preview was requested.
    pub dry_run: bool,
    /// Where untrusted content was in the chat: why it raises the call, as far as the call alone does not
    /// show it.
    pub content: Option<Vec<ContentRaise>>,
    /// The decision at that time.
    pub decision: String,
    /// Whether it was admitted: not denied, not waiting, not ended while it waited.
    pub was_admitted: bool,
    /// When it was created, Unix milliseconds.
    pub created_at: i64,
}

impl FromRow for RecordedCall {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        let raises = json_option(row, "content_raises")?.unwrap_or_default();
        Ok(Self {
            id: parsed(row, "id")?,
            caller: Caller {
                user: parsed(row, "user_name")?,
                role: parsed(row, "role")?,
                conversation: parsed_option(row, "conversation_id")?,
            },
            device: parsed_option(row, "device_id")?,
            tool: row.get("tool")?,
            undo: json_option(row, "undo_json")?,
            arguments: row.get("arguments")?,
            dry_run: row.get("dry_run")?,
            content: row.get::<bool>("tainted")?.then_some(raises),
            decision: row.get("decision")?,
            was_admitted: row.get("was_admitted")?,
            created_at: row.get("created_at")?,
        })
    }
}

/// Returns the first id that a call of this time could have: ids begin with their time.
#[must_use]
pub fn first_id_at(unix_ms: i64) -> String {
    let hex = format!("{:012x}", unix_ms.clamp(0, 0xffff_ffff_ffff));
    let (high, low) = hex.split_at(8);
    format!("{high}-{low}")
}

impl Store {
    /// Returns id and time of the call before the newest `most` calls, of one device or of all. None if
    /// there are not so many. Previews that the backend made itself are left out.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn newest_calls_begin(
        &self,
        most: u64,
        device: Option<DeviceId>,
    ) -> Result<Option<(String, i64)>, StoreError> {
        self.db()
            .query_optional(
                sql(if device.is_some() {
                    "SELECT id, created_at FROM calls WHERE device_id = $2 AND NOT is_own_preview \
             ORDER BY id DESC LIMIT 1 OFFSET $1"
                } else {
                    "SELECT id, created_at FROM calls WHERE NOT is_own_preview \
             ORDER BY id DESC LIMIT 1 OFFSET $1"
                })
                .bind(signed(most))
                .bind(device),
            )
            .await
    }

    /// Returns the next calls with ids after `after`, of one device or of all, without the backend's own
    /// previews. At most 1,000 calls and 8 MiB of arguments, but at least one call.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn calls_after(
        &self,
        after: &str,
        device: Option<DeviceId>,
    ) -> Result<Vec<RecordedCall>, StoreError> {
        let text = if device.is_some() {
            recorded!("WHERE id > $1 AND device_id = $2")
        } else {
            recorded!("WHERE id > $1")
        };
        self.db().query(sql(text).with(values![after, device, PAGE, PAGE_BYTES])).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_begin_with_their_time() {
        let id = uuid::Uuid::new_v7(uuid::Timestamp::from_unix(uuid::NoContext, 1_700_000_000, 0));
        let first = first_id_at(1_700_000_000_000);
        assert_eq!(first, "018bcfe5-6800");
        assert!(id.to_string().starts_with(&first));
        assert!(first_id_at(-1) < first && first < first_id_at(i64::MAX));
    }
}
