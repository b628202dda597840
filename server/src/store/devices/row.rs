//! The row of a device: as it enrols and as it is stored.

use std::fmt;
use std::str::FromStr;

use orion_domain::id::InviteId;
use orion_domain::{DeviceId, DeviceName, Digest};
use orion_policy::Labels;
use serde::Serialize;

use super::PolicyMismatch;
use crate::store::StoreError;
use crate::store::columns::{digest_option, json, parsed, parsed_option};
use crate::store::db::{DecodeError, FromRow, Row, Tx, sql, values};

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

/// Why a device waits for an admin although its token approves devices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PendingReason {
    /// It chose a name of which the policy file says something: grants, labels or rules.
    PolicyName,
    /// Another device of its token was revoked or is in quarantine. The holder of that one may have the token.
    CompromisedToken,
}

impl PendingReason {
    /// Returns the name that audit log and database use.
    const fn as_str(self) -> &'static str {
        match self {
            Self::PolicyName => "policy_name",
            Self::CompromisedToken => "compromised_token",
        }
    }
}

impl fmt::Display for PendingReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PolicyName => {
                "it chose a name for which the policy file had entries, although its token approves devices"
            }
            Self::CompromisedToken => {
                "another device of its token was revoked or in quarantine when it enrolled"
            }
        })
    }
}

impl FromStr for PendingReason {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        [Self::PolicyName, Self::CompromisedToken]
            .into_iter()
            .find(|reason| reason.as_str() == text)
            .ok_or_else(|| "not why a device waits".to_owned())
    }
}

/// A device that enrols. Times are Unix milliseconds.
#[derive(Debug)]
pub(super) struct NewDevice {
    /// Its id.
    pub(super) id: DeviceId,
    /// Pending, or approved at once.
    pub(super) state: DeviceState,
    /// Why it waits although its token approves devices.
    pub(super) pending_reason: Option<PendingReason>,
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
    /// Its labels.
    pub(super) labels: Labels,
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
    pub(super) async fn insert(self, tx: &mut Tx, name: String) -> Result<DeviceRow, StoreError> {
        let labels = serde_json::to_string(&self.labels).map_err(|_| StoreError::Corrupt)?;
        tx.query_one(
            sql("INSERT INTO devices (id, name, state, os, hostname, public_key_fingerprint, \
             fingerprint_words, certificate_request, generation, grants_json, labels_json, \
             ticket_hash, invite_id, created_at, pending_reason) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 0, $9, $10, $11, $12, $13, $14) RETURNING *")
            .with(values![
                self.id,
                name,
                self.state.as_str(),
                self.os,
                self.hostname,
                self.public_key_fingerprint,
                self.fingerprint_words,
                self.certificate_request,
                self.grants,
                labels,
                self.ticket_hash,
                self.invite,
                self.created_at,
                self.pending_reason.map(PendingReason::as_str)
            ]),
        )
        .await
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
    /// Why it waited for an admin although its token approved devices.
    pub pending_reason: Option<PendingReason>,
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
    /// The labels that are stored with it. They count where the policy file gives it none.
    pub labels: Labels,
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

impl FromRow for DeviceRow {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            id: parsed(row, "id")?,
            name: parsed(row, "name")?,
            state: parsed(row, "state")?,
            pending_reason: parsed_option(row, "pending_reason")?,
            os: row.get("os")?,
            hostname: row.get("hostname")?,
            agent_version: row.get("agent_version")?,
            public_key_fingerprint: row.get("public_key_fingerprint")?,
            fingerprint_words: row.get("fingerprint_words")?,
            certificate_request: row.get("certificate_request")?,
            certificate_serial: row.get("certificate_serial")?,
            certificate_not_after: row.get("certificate_not_after")?,
            generation: row.get("generation")?,
            facts: row.get("facts_json")?,
            ceiling: row.get("ceiling_json")?,
            grants: row.get("grants_json")?,
            labels: json(row, "labels_json")?,
            policy_version: row.get("policy_version")?,
            acknowledged_version: row.get("acknowledged_version")?,
            found: json(row, "policy_findings_json")?,
            ticket_hash: digest_option(row, "ticket_hash")?,
            created_at: row.get("created_at")?,
            last_seen_at: row.get("last_seen_at")?,
        })
    }
}
