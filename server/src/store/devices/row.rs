//! The row of a device: as it enrols and as it is stored.

use std::str::FromStr;

use orion_domain::id::InviteId;
use orion_domain::{DeviceId, DeviceName, Digest};
use serde::Serialize;
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{FromRow, Row as _};

use super::PolicyMismatch;
use crate::store::StoreError;
use crate::store::row::{digest_option, json, parsed};

/// The state of a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum DeviceState {
    /// It waits for an admin.
    Pending,
    /// It may get calls.
    Approved,
    /// An admin rejected it. Its certificates are revoked.
    Rejected,
    /// It stays enrolled but gets no calls until an admin approves it again.
    Quarantined,
    /// Its certificates are revoked.
    Revoked,
}

impl DeviceState {
    /// Every state, in the order of the reference.
    pub const ALL: [Self; 5] =
        [Self::Pending, Self::Approved, Self::Rejected, Self::Quarantined, Self::Revoked];

    /// Returns the name that people, wire and database use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Quarantined => "quarantined",
            Self::Revoked => "revoked",
        }
    }

    /// Returns the audit event's kind for a change to this state.
    pub(super) const fn event(self) -> &'static str {
        match self {
            Self::Pending => "device.pending",
            Self::Approved => "device.approved",
            Self::Rejected => "device.rejected",
            Self::Quarantined => "device.quarantined",
            Self::Revoked => "device.revoked",
        }
    }
}

impl FromStr for DeviceState {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| "not a device's state".to_owned())
    }
}

/// A device that enrols. Times are Unix milliseconds.
#[derive(Debug)]
pub(super) struct NewDevice {
    /// Its id.
    pub(super) id: DeviceId,
    /// Pending, or approved at once.
    pub(super) state: DeviceState,
    /// The fingerprint of its key.
    pub(super) public_key_fingerprint: String,
    /// The key's fingerprint in words, for people to compare.
    pub(super) fingerprint_words: String,
    /// Its certificate request, PEM.
    pub(super) certificate_request: String,
    /// SHA-256 of the ticket that it polls with until it has connected.
    pub(super) ticket_hash: Digest,
    /// Its grants, JSON.
    pub(super) grants: String,
    /// Its hostname.
    pub(super) hostname: String,
    /// Its operating system.
    pub(super) os: String,
    /// The token that it presented.
    pub(super) invite: InviteId,
    /// When it enrolled.
    pub(super) created_at: i64,
}

impl NewDevice {
    /// Inserts the row under this name.
    pub(super) async fn insert(
        self,
        name: String,
        conn: &mut SqliteConnection,
    ) -> Result<DeviceRow, StoreError> {
        Ok(sqlx::query_as(
            "INSERT INTO devices (id, name, state, os, hostname, public_key_fingerprint, \
             fingerprint_words, certificate_request, generation, grants_json, ticket_hash, \
             invite_id, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11, $12) \
             RETURNING *",
        )
        .bind(self.id.to_string())
        .bind(name)
        .bind(self.state.as_str())
        .bind(self.os)
        .bind(self.hostname)
        .bind(self.public_key_fingerprint)
        .bind(self.fingerprint_words)
        .bind(self.certificate_request)
        .bind(self.grants)
        .bind(self.ticket_hash.as_bytes().to_vec())
        .bind(self.invite.to_string())
        .bind(self.created_at)
        .fetch_one(conn)
        .await?)
    }
}

/// A stored device. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceRow {
    /// Its id.
    pub id: DeviceId,
    /// Its name.
    pub name: DeviceName,
    /// Its state.
    pub state: DeviceState,
    /// Its operating system, as reported at enrolment.
    pub os: String,
    /// Its hostname, as reported at enrolment.
    pub hostname: String,
    /// The version of its agent. None until it connects.
    pub agent_version: Option<String>,
    /// The fingerprint of its key.
    pub public_key_fingerprint: String,
    /// The key's fingerprint in words.
    pub fingerprint_words: String,
    /// Its certificate request, PEM.
    pub certificate_request: String,
    /// The serial number of its newest certificate, hexadecimal. None until one is issued.
    pub certificate_serial: Option<String>,
    /// When that certificate expires. None until one is issued.
    pub certificate_not_after: Option<i64>,
    /// How often it has connected, by its own count.
    pub generation: i64,
    /// The facts of its last connection, JSON. None until it connects.
    pub facts: Option<String>,
    /// The limit of its owner, JSON. None until it connects.
    pub ceiling: Option<String>,
    /// Its grants, JSON.
    pub grants: String,
    /// The version of its policy. None until its grants are changed.
    pub policy_version: Option<String>,
    /// The version that the device reports. None until it reports one.
    pub acknowledged_version: Option<String>,
    /// How the device differs from what that version names.
    pub found: Vec<PolicyMismatch>,
    /// SHA-256 of the ticket that it polls with. None once it has connected.
    pub ticket_hash: Option<Digest>,
    /// When it enrolled.
    pub created_at: i64,
    /// When it was last seen. None until it connects.
    pub last_seen_at: Option<i64>,
}

impl FromRow<'_, SqliteRow> for DeviceRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: parsed(row, "id")?,
            name: parsed(row, "name")?,
            state: parsed(row, "state")?,
            os: row.try_get("os")?,
            hostname: row.try_get("hostname")?,
            agent_version: row.try_get("agent_version")?,
            public_key_fingerprint: row.try_get("public_key_fingerprint")?,
            fingerprint_words: row.try_get("fingerprint_words")?,
            certificate_request: row.try_get("certificate_request")?,
            certificate_serial: row.try_get("certificate_serial")?,
            certificate_not_after: row.try_get("certificate_not_after")?,
            generation: row.try_get("generation")?,
            facts: row.try_get("facts_json")?,
            ceiling: row.try_get("ceiling_json")?,
            grants: row.try_get("grants_json")?,
            policy_version: row.try_get("policy_version")?,
            acknowledged_version: row.try_get("acknowledged_version")?,
            found: json(row, "policy_findings_json")?,
            ticket_hash: digest_option(row, "ticket_hash")?,
            created_at: row.try_get("created_at")?,
            last_seen_at: row.try_get("last_seen_at")?,
        })
    }
}
