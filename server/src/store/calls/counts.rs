//! A person's earlier calls on a device, which rules with a limit count.

use orion_domain::{CallId, DeviceId, Undo, UserName};

use crate::store::columns::json_option;
use crate::store::db::{DecodeError, FromRow, Row, sql, values};
use crate::store::{Store, StoreError};

/// An earlier call that was admitted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Admitted {
    /// The tool's name.
    pub tool: String,
    /// The change that the call undid or redid. None for other calls.
    pub undo: Option<Undo>,
    /// Canonical JSON. Empty beyond the limit of bytes.
    pub arguments: Vec<u8>,
    /// When it was admitted, Unix milliseconds.
    pub admitted_at: i64,
}

impl FromRow for Admitted {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            tool: row.get("tool")?,
            undo: json_option(row, "undo_json")?,
            arguments: row.get::<Option<Vec<u8>>>("arguments")?.unwrap_or_default(),
            admitted_at: row.get("admitted_at")?,
        })
    }
}

impl Store {
    /// Returns the newest calls of a person that were admitted on a device since a time, newest first, at
    /// most `most`. Leaves out previews, calls that the device refused, and the call `but`. The newest
    /// calls have their arguments, up to this many bytes together. The time is that of admission, even if
    /// the call was created long before.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn admitted_calls(
        &self,
        user: &UserName,
        device: DeviceId,
        since: i64,
        but: CallId,
        most: u32,
        arguments_bytes: u32,
    ) -> Result<Vec<Admitted>, StoreError> {
        self.db().flush().await?;
        self.db()
            .query(
                sql("SELECT tool, undo_json, admitted_at, CASE WHEN bytes <= $6 THEN \
             (SELECT arguments FROM calls WHERE id = counted) END AS arguments FROM \
             (SELECT id AS counted, tool, undo_json, admitted_at, \
             SUM(LENGTH(arguments)) OVER (ORDER BY admitted_at DESC, id DESC) AS bytes FROM calls \
             WHERE user_name = $1 AND device_id = $2 AND admitted_at >= $3 AND id <> $4 \
             AND NOT dry_run AND state <> 'refused' ORDER BY admitted_at DESC, id DESC LIMIT $5) \
             ORDER BY admitted_at DESC, counted DESC")
                .with(values![user.as_str(), device, since, but, most, arguments_bytes]),
            )
            .await
    }
}
