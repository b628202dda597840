//! Enrolment: one transaction spends a use of a token and adds the device. Neither is ever stored without
//! the other, however many devices try at once and wherever it breaks off.

use std::collections::{BTreeSet, HashSet};
use std::net::IpAddr;

use orion_domain::id::InviteId;
use orion_domain::{DeviceId, DeviceName, Digest};
use orion_policy::Labels;
use serde::Serialize;
use serde_json::value::RawValue;

use super::row::{NewDevice, PendingReason};
use super::{DeviceRow, DeviceState, raw};
use crate::store::db::{AuditEvent, Durability, Tx, sql, values};
use crate::store::invites::{Invite, is_valid, spend};
use crate::store::{Store, StoreError};

/// The maximum length of a device's name, in bytes.
const NAME_BYTES: usize = 63;

/// A device that enrols with a token. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The device's new id.
    pub id: DeviceId,
    /// The token that it presents.
    pub invite: InviteId,
    /// SHA-256 of the secret that it presents.
    pub secret_hash: Digest,
    /// Its name if the token sets none; numbered if the name is taken.
    pub own_name: DeviceName,
    /// The fingerprint of its key.
    pub public_key_fingerprint: String,
    /// The key's fingerprint in words, for people to compare.
    pub fingerprint_words: String,
    /// Its certificate request, PEM.
    pub certificate_request: String,
    /// SHA-256 of the ticket that it polls with until it has connected.
    pub ticket_hash: Digest,
    /// Whether the device chose the ticket itself, and so may retry with it.
    pub may_come_again: bool,
    /// Names of which the policy file says something. A device that chooses one of them itself waits for an admin.
    pub policy_names: BTreeSet<DeviceName>,
    /// Its hostname.
    pub hostname: String,
    /// Its operating system.
    pub os: String,
    /// Its platform, as `linux-x86_64`, which it states itself.
    pub platform: String,
    /// The address of its connection.
    pub address: IpAddr,
    /// When it enrols.
    pub at: i64,
}

/// The result of an enrolment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redemption {
    /// The device.
    pub device: DeviceRow,
    /// Whether this request added the device. False for a retry.
    pub is_new: bool,
}

/// Why a token is rejected. Nothing was spent.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RedeemError {
    /// The token does not exist or the secret is wrong; the error does not say which.
    #[error("this enrolment token is not known here")]
    Unknown,
    /// The token has expired.
    #[error("this enrolment token has expired; ask for another")]
    Expired,
    /// An admin withdrew the token.
    #[error("this enrolment token was withdrawn; ask for another")]
    Revoked,
    /// Every use of the token was spent.
    #[error("this enrolment token was used up; ask for another")]
    Spent,
    /// The token may not be used from this address.
    #[error("this enrolment token may not be used from {0}")]
    Network(IpAddr),
    /// The token is for devices of other platforms.
    #[error("this enrolment token is for {allowed}, and the device states `{stated}`")]
    Platform {
        /// The platforms of the token.
        allowed: String,
        /// The platform that the device stated.
        stated: String,
    },
    /// The token is for another device's key.
    #[error("this enrolment token was confirmed for the key of another device")]
    OtherKey,
    /// A device with this key is stored already, in any state.
    #[error("a device with this key is on record already")]
    KeyKnown,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Serialize)]
struct Enrolled<'a> {
    device_id: DeviceId,
    name: &'a str,
    state: DeviceState,
    public_key_fingerprint: &'a str,
    invite_id: InviteId,
    grants: Option<&'a RawValue>,
    labels: &'a Labels,
    /// Why it waits although its token approves devices.
    #[serde(skip_serializing_if = "Option::is_none")]
    pending_reason: Option<PendingReason>,
}

impl Store {
    /// Spends one use of a token and adds the device: approved if the token says so, else pending. However
    /// many devices try at once, each use has one winner. If its name is taken, the device gets the first
    /// free one of `name-2`, `name-3`, …
    ///
    /// A retry with the same key, token and ticket before the device has connected returns the existing
    /// device. It spends and records nothing.
    ///
    /// # Errors
    /// See [`RedeemError`]. The key is stored for good: a device that was revoked or is in quarantine
    /// cannot enrol again.
    pub async fn enroll_device(&self, candidate: Candidate) -> Result<Redemption, RedeemError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let (invite, at) = (candidate.invite, candidate.at);
                if candidate.may_come_again
                    && let Some(known) = find_enrolled(tx, &candidate).await?
                {
                    return Ok(Ok(Redemption { device: known, is_new: false }));
                }
                if let Err(error) = is_valid(tx, &candidate).await? {
                    return Ok(Err(error));
                }
                let is_known = tx
                    .exists(
                        sql("SELECT 1 FROM devices WHERE public_key_fingerprint = $1")
                            .bind(&candidate.public_key_fingerprint),
                    )
                    .await?;
                if is_known {
                    return Ok(Err(RedeemError::KeyKnown));
                }
                let invite = spend(tx, invite, at).await?;
                let device = insert(tx, candidate, invite).await?;
                Ok(Ok(Redemption { device, is_new: true }))
            })
        })
        .await?
    }
}

/// Finds the device of a retry, which presents everything that it presented before. Whether the token is
/// still valid for others does not matter.
async fn find_enrolled(
    tx: &mut Tx,
    candidate: &Candidate,
) -> Result<Option<DeviceRow>, StoreError> {
    tx.query_optional(
        sql("SELECT devices.* FROM devices JOIN invites ON invites.id = devices.invite_id \
         WHERE devices.public_key_fingerprint = $1 AND devices.ticket_hash = $2 \
         AND invites.id = $3 AND invites.secret_hash = $4")
        .with(values![
            &candidate.public_key_fingerprint,
            candidate.ticket_hash,
            candidate.invite,
            candidate.secret_hash
        ]),
    )
    .await
}

async fn insert(
    tx: &mut Tx,
    candidate: Candidate,
    invite: Invite,
) -> Result<DeviceRow, StoreError> {
    let Candidate {
        id,
        invite: invite_id,
        secret_hash: _,
        may_come_again: _,
        own_name,
        public_key_fingerprint,
        fingerprint_words,
        certificate_request,
        ticket_hash,
        policy_names,
        hostname,
        os,
        platform: _,
        address: _,
        at,
    } = candidate;
    let wanted = invite.name.as_ref().unwrap_or(&own_name);
    let name = free_name(tx, wanted.as_str()).await?;
    // With a name of the policy file it would choose grants and labels for itself.
    let is_admins = invite.name.as_ref().is_some_and(|it| it.as_str() == name);
    let pending_reason = if !invite.preapproved {
        None
    } else if is_compromised(tx, invite_id).await? {
        Some(PendingReason::CompromisedToken)
    } else if !is_admins && policy_names.iter().any(|it| it.as_str() == name) {
        Some(PendingReason::PolicyName)
    } else {
        None
    };
    let is_approved = invite.preapproved && pending_reason.is_none();
    let state = if is_approved { DeviceState::Approved } else { DeviceState::Pending };
    let body = Enrolled {
        device_id: id,
        name: &name,
        state,
        public_key_fingerprint: &public_key_fingerprint,
        invite_id,
        grants: raw(&invite.grants),
        labels: &invite.labels,
        pending_reason,
    };
    tx.record(AuditEvent::new(at, "device.enrolled", String::new(), &body)?);
    let new = NewDevice {
        id,
        state,
        pending_reason,
        public_key_fingerprint,
        fingerprint_words,
        certificate_request,
        ticket_hash,
        grants: invite.grants,
        labels: invite.labels,
        hostname,
        os,
        invite: invite_id,
        created_at: at,
    };
    new.insert(tx, name).await
}

/// Returns whether a device of this token was revoked or is in quarantine. Whoever has that device may have
/// the token, so the token approves no further devices.
async fn is_compromised(tx: &mut Tx, invite: InviteId) -> Result<bool, StoreError> {
    let compromised = sql("SELECT 1 FROM devices WHERE invite_id = $1 \
         AND state IN ('quarantined', 'revoked') LIMIT 1");
    tx.exists(compromised.bind(invite)).await
}

/// Returns the name, or the first free one of its numbered forms.
async fn free_name(tx: &mut Tx, name: &str) -> Result<String, StoreError> {
    // Leaves room for a number; names are ASCII. `.` is the character after `-`.
    let base = name.get(..name.len().min(NAME_BYTES - 6)).unwrap_or(name);
    let taken: Vec<(String,)> = tx
        .query(
            sql(
                "SELECT name FROM devices WHERE state NOT IN ('rejected', 'revoked') AND name = $1 \
         UNION ALL SELECT name FROM devices WHERE state NOT IN ('rejected', 'revoked') \
         AND name >= $2 AND name < $3",
            )
            .with(values![name, format!("{base}-"), format!("{base}.")]),
        )
        .await?;
    let taken: HashSet<_> = taken.into_iter().map(|(name,)| name).collect();
    if !taken.contains(name) {
        return Ok(name.to_owned());
    }
    (2..100_000)
        .map(|number| format!("{base}-{number}"))
        .find(|name| !taken.contains(name))
        .ok_or(StoreError::Conflict)
}
