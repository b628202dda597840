//! A use of a token is spent and a device is taken in: one change, so that neither is ever on record
//! without the other, however many try at once and wherever it breaks off.

use std::collections::HashSet;

use orion_domain::id::InviteId;
use orion_domain::{DeviceId, DeviceName, Digest};
use serde::Serialize;
use serde_json::value::RawValue;

use super::row::NewDevice;
use super::{DeviceRow, DeviceState, raw};
use crate::store::invites::{Invite, is_valid, spend};
use crate::store::writer::{Durability, Event, Tx};
use crate::store::{Store, StoreError};

/// The longest name of a device, in bytes.
const NAME_BYTES: usize = 63;

/// A device that comes with a token. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidate {
    /// The id that it gets.
    pub id: DeviceId,
    /// The token that it came with.
    pub invite: InviteId,
    /// SHA-256 of the secret that it showed.
    pub secret_hash: Digest,
    /// Its name where the token says none; numbered where it is taken.
    pub own_name: DeviceName,
    /// The fingerprint of its key.
    pub public_key_fingerprint: String,
    /// The same in words, for people to compare.
    pub fingerprint_words: String,
    /// What its certificate is made from, PEM.
    pub certificate_request: String,
    /// SHA-256 of what it asks with until it has connected.
    pub ticket_hash: Digest,
    /// Whether it made that up itself, and so may come again with it.
    pub may_come_again: bool,
    /// Its own name.
    pub hostname: String,
    /// Its operating system.
    pub os: String,
    /// When.
    pub at: i64,
}

/// A device that came with a token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redemption {
    /// The device.
    pub device: DeviceRow,
    /// Whether it was taken in by this, and not before.
    pub is_new: bool,
}

/// Why a token gets nobody in. Nothing was spent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RedeemError {
    /// There is no such token, or the secret is not its own; which of them is not said.
    #[error("this enrolment token is not known here")]
    Unknown,
    /// Its time is over.
    #[error("this enrolment token has expired; ask for another")]
    Expired,
    /// Every use of it was spent.
    #[error("this enrolment token was used up; ask for another")]
    Spent,
    /// A device with this key is on record, whatever has become of it.
    #[error("a device with this key is on record already")]
    KeyKnown,
    /// The record failed.
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
}

impl Store {
    /// Spends one use of a token and takes the device in: approved where the token says so, else
    /// pending. However many try at once, each use has one winner. Where its name is taken, the
    /// device gets the first free one of `name-2`, `name-3`, …
    ///
    /// Who comes again with the same key, token and ticket before it has connected is the device that it became:
    /// nothing is spent and nothing recorded.
    ///
    /// # Errors
    /// See [`RedeemError`]. The key is on record for good: a device that was revoked or is in
    /// quarantine does not come back by itself.
    pub async fn enroll_device(&self, candidate: Candidate) -> Result<Redemption, RedeemError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let (invite, secret, at) = (candidate.invite, candidate.secret_hash, candidate.at);
                if candidate.may_come_again
                    && let Some(known) = find_enrolled(tx, &candidate).await?
                {
                    return Ok(Ok(Redemption { device: known, is_new: false }));
                }
                if let Err(error) = is_valid(tx, invite, secret, at).await? {
                    return Ok(Err(error));
                }
                let known = sqlx::query("SELECT 1 FROM devices WHERE public_key_fingerprint = $1")
                    .bind(&candidate.public_key_fingerprint)
                    .fetch_optional(&mut tx.conn)
                    .await?;
                if known.is_some() {
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

/// The device that this one became before, where it comes again with all that it came with. Whether the token
/// is good for others counts no more.
async fn find_enrolled(
    tx: &mut Tx,
    candidate: &Candidate,
) -> Result<Option<DeviceRow>, StoreError> {
    Ok(sqlx::query_as(
        "SELECT devices.* FROM devices JOIN invites ON invites.id = devices.invite_id \
         WHERE devices.public_key_fingerprint = $1 AND devices.ticket_hash = $2 \
         AND invites.id = $3 AND invites.secret_hash = $4",
    )
    .bind(&candidate.public_key_fingerprint)
    .bind(candidate.ticket_hash.as_bytes().to_vec())
    .bind(candidate.invite.to_string())
    .bind(candidate.secret_hash.as_bytes().to_vec())
    .fetch_optional(&mut tx.conn)
    .await?)
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
        hostname,
        os,
        at,
    } = candidate;
    let approved = invite.preapproved && !brought_trouble(tx, invite_id).await?;
    let state = if approved { DeviceState::Approved } else { DeviceState::Pending };
    let wanted = invite.name.unwrap_or(own_name);
    let name = free_name(tx, wanted.as_str()).await?;
    let body = Enrolled {
        device_id: id,
        name: &name,
        state,
        public_key_fingerprint: &public_key_fingerprint,
        invite_id,
        grants: raw(&invite.grants),
    };
    tx.record(Event::new(at, "device.enrolled", String::new(), &body)?);
    let new = NewDevice {
        id,
        state,
        public_key_fingerprint,
        fingerprint_words,
        certificate_request,
        ticket_hash,
        grants: invite.grants,
        hostname,
        os,
        invite: invite_id,
        created_at: at,
    };
    new.insert(name, &mut tx.conn).await
}

/// Whether a device that came with this token was revoked or is in quarantine: whoever has it may
/// have the token still, so that it lets nobody in unseen any more.
async fn brought_trouble(tx: &mut Tx, invite: InviteId) -> Result<bool, StoreError> {
    Ok(sqlx::query(
        "SELECT 1 FROM devices WHERE invite_id = $1 AND state IN ('quarantined', 'revoked') LIMIT 1",
    )
    .bind(invite.to_string())
    .fetch_optional(&mut tx.conn)
    .await?
    .is_some())
}

/// The name, or the first of its numbered forms that is free.
async fn free_name(tx: &mut Tx, name: &str) -> Result<String, StoreError> {
    // Room for a number; names are ASCII. `.` is the character after `-`.
    let base = name.get(..name.len().min(NAME_BYTES - 6)).unwrap_or(name);
    let taken: Vec<(String,)> = sqlx::query_as(
        "SELECT name FROM devices WHERE state NOT IN ('rejected', 'revoked') AND name = $1 \
         UNION ALL SELECT name FROM devices WHERE state NOT IN ('rejected', 'revoked') \
         AND name >= $2 AND name < $3",
    )
    .bind(name)
    .bind(format!("{base}-"))
    .bind(format!("{base}."))
    .fetch_all(&mut tx.conn)
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
