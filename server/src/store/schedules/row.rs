//! The row of a task.

use orion_domain::{CallId, Digest, Role, UserName};
use serde_json::{Map, Value};

use crate::store::columns::{digest_option, json, parsed, parsed_option};
use crate::store::db::{DecodeError, FromRow, Row};

/// Whether a task still makes calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScheduleState {
    /// It has a next time.
    Active,
    /// It has made its last call.
    Done,
    /// Somebody cancelled it.
    Cancelled,
}

impl ScheduleState {
    /// Returns the name that people and programs use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Done => "done",
            Self::Cancelled => "cancelled",
        }
    }
}

/// A task. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct ScheduleRow {
    /// The id: that of the call that made it.
    pub id: CallId,
    /// Whose it is.
    pub user: UserName,
    /// The role of that person when the task was made.
    pub role: Role,
    /// Its name.
    pub name: String,
    /// When the call is made, as the person wrote it.
    pub times: String,
    /// The IANA name of its time zone.
    pub timezone: String,
    /// The tool of the call.
    pub tool: String,
    /// The device of the call. None if it names none.
    pub device: Option<String>,
    /// The arguments of the call.
    pub arguments: Map<String, Value>,
    /// Whether somebody else may have written the task.
    pub tainted: bool,
    /// SHA-256 of the API token that made it. None for a task of a signed-in person.
    pub token: Option<Digest>,
    /// When it was made.
    pub created_at: i64,
    /// The next time. None where there is none.
    pub next_at: Option<i64>,
    /// The last time. None where there was none.
    pub last_at: Option<i64>,
    /// The call of the last time.
    pub last_call: Option<CallId>,
    /// When it ended. None while it is active.
    pub ended_at: Option<i64>,
    /// Who cancelled it. None otherwise.
    pub ended_by: Option<UserName>,
}

impl ScheduleRow {
    /// Returns whether it still makes calls.
    #[must_use]
    pub const fn state(&self) -> ScheduleState {
        match (self.ended_at, &self.ended_by) {
            (None, _) => ScheduleState::Active,
            (Some(_), None) => ScheduleState::Done,
            (Some(_), Some(_)) => ScheduleState::Cancelled,
        }
    }
}

impl FromRow for ScheduleRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            id: parsed(row, "id")?,
            user: parsed(row, "user_name")?,
            role: parsed(row, "role")?,
            name: row.get("name")?,
            times: row.get("times")?,
            timezone: row.get("timezone")?,
            tool: row.get("tool")?,
            device: row.get("device")?,
            arguments: json(row, "arguments")?,
            tainted: row.get("tainted")?,
            token: digest_option(row, "token_hash")?,
            created_at: row.get("created_at")?,
            next_at: row.get("next_at")?,
            last_at: row.get("last_at")?,
            last_call: parsed_option(row, "last_call_id")?,
            ended_at: row.get("ended_at")?,
            ended_by: parsed_option(row, "ended_by")?,
        })
    }
}
