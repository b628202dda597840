//! The row of a request for access.

use std::str::FromStr;

use orion_domain::{
    AccessRequestId, CallId, DeviceId, DeviceName, Digest, TemporaryGrant, UserName,
};
use serde::Serialize;

use crate::store::columns::{digest, json, parsed, parsed_option};
use crate::store::db::{DecodeError, FromRow, Row};

/// The state of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum AccessRequestState {
    /// It waits for an admin.
    Open,
    /// An admin granted it.
    Granted,
    /// An admin refused it.
    Refused,
    /// The requester withdrew it.
    Withdrawn,
    /// Nobody answered in time.
    Expired,
    /// What was granted is over.
    Ended,
}

impl AccessRequestState {
    const ALL: [Self; 6] =
        [Self::Open, Self::Granted, Self::Refused, Self::Withdrawn, Self::Expired, Self::Ended];

    /// Returns the name that people and the database use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Granted => "granted",
            Self::Refused => "refused",
            Self::Withdrawn => "withdrawn",
            Self::Expired => "expired",
            Self::Ended => "ended",
        }
    }
}

impl FromStr for AccessRequestState {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|it| it.as_str() == text);
        found.ok_or("not the state of an access request")
    }
}

/// A request for access. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRequestRow {
    /// Its id.
    pub id: AccessRequestId,
    /// The state, as stored: see [`Self::state_at`].
    pub state: AccessRequestState,
    /// Who asks.
    pub requester: UserName,
    /// The denied call.
    pub call: CallId,
    /// The device.
    pub device: (DeviceId, DeviceName),
    /// What is asked for, and with its end what was granted.
    pub grant: TemporaryGrant,
    /// Of the device and the grant, whatever its end.
    pub digest: Digest,
    /// The requester's reason. Empty if none was given.
    pub reason: String,
    /// For how long access is wanted.
    pub seconds: i64,
    /// When it was made.
    pub created_at: i64,
    /// Until when it can be answered.
    pub expires_at: i64,
    /// Who granted, refused, withdrew or ended it.
    pub decided_by: Option<UserName>,
    /// When.
    pub decided_at: Option<i64>,
    /// That person's reason.
    pub decision_reason: Option<String>,
    /// When what was granted ends.
    pub granted_until: Option<i64>,
}

impl AccessRequestRow {
    /// Returns the state at a moment, also where the database has not caught up.
    #[must_use]
    pub fn state_at(&self, now: i64) -> AccessRequestState {
        let is_over = self.granted_until.is_none_or(|end| end <= now);
        if self.state == AccessRequestState::Open && self.expires_at <= now {
            AccessRequestState::Expired
        } else if self.state == AccessRequestState::Granted && is_over {
            AccessRequestState::Ended
        } else {
            self.state
        }
    }
}

impl FromRow for AccessRequestRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        let granted_until: Option<i64> = row.get("granted_until")?;
        let grant: TemporaryGrant = json(row, "grant_json")?;
        Ok(Self {
            id: parsed(row, "id")?,
            state: parsed(row, "state")?,
            requester: parsed(row, "requester")?,
            call: parsed(row, "call_id")?,
            device: (parsed(row, "device_id")?, parsed(row, "device_name")?),
            // Until it is granted, nothing is.
            grant: TemporaryGrant { expires_at: granted_until.unwrap_or_default(), ..grant },
            digest: digest(row, "digest")?,
            reason: row.get("reason")?,
            seconds: row.get("seconds")?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
            decided_by: parsed_option(row, "decided_by")?,
            decided_at: row.get("decided_at")?,
            decision_reason: row.get("decision_reason")?,
            granted_until,
        })
    }
}
