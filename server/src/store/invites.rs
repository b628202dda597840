//! Enrolment tokens: created by a person, spent by devices, one use at a time.

mod open;
mod scope;

use std::net::IpAddr;

use orion_domain::id::InviteId;
use orion_domain::{DeviceName, Digest, UserName};
use orion_policy::Labels;
use serde::Serialize;

use super::columns::{json, parsed_option};
use super::db::{AuditEvent, Batch, DecodeError, Durability, FromRow, Row, Tx, sql, values};
use super::devices::{Candidate, RedeemError};
use super::{Store, StoreError};

pub use open::OpenInvite;
pub use scope::InviteScope;

/// A new token. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInvite {
    /// Its id, which is not secret.
    pub id: InviteId,
    /// SHA-256 of its secret.
    pub secret_hash: Digest,
    /// The device's name. `None` to use the name that the device suggests.
    pub name: Option<DeviceName>,
    /// How many times it can be used.
    pub uses: u32,
    /// Whether devices are approved at once.
    pub preapproved: bool,
    /// The device's first grants, JSON.
    pub grants: String,
    /// The labels of the devices that use it.
    pub labels: Labels,
    /// Which devices may use it.
    pub scope: InviteScope,
    /// Who made it.
    pub created_by: UserName,
    /// When it was made.
    pub created_at: i64,
    /// When it expires.
    pub expires_at: i64,
}

/// A token after one use was spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Invite {
    /// The device's name. `None` to use the name that the device suggests.
    pub(super) name: Option<DeviceName>,
    /// Whether the device is approved at once.
    pub(super) preapproved: bool,
    /// The device's first grants, JSON.
    pub(super) grants: String,
    /// The device's labels.
    pub(super) labels: Labels,
    /// The remaining uses.
    pub(super) uses_left: i64,
}

/// The audit event of a new token.
#[derive(Serialize)]
struct Created<'a> {
    invite_id: InviteId,
    by: &'a UserName,
    device_name: Option<&'a DeviceName>,
    uses: u32,
    preapproved: bool,
    grants: &'a str,
    labels: &'a Labels,
    scope: &'a InviteScope,
    expires_at: i64,
}

/// The audit event of a use outside the token's scope.
#[derive(Serialize)]
struct RefusedEvent<'a> {
    invite_id: InviteId,
    address: IpAddr,
    platform: &'a str,
    public_key_fingerprint: &'a str,
    reason: String,
}

/// The audit event of a use.
#[derive(Serialize)]
struct RedeemedEvent {
    invite_id: InviteId,
    uses_left: i64,
}

impl FromRow for Invite {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            name: parsed_option(row, "device_name")?,
            preapproved: row.get("preapproved")?,
            grants: row.get("grants_json")?,
            labels: json(row, "labels_json")?,
            uses_left: row.get("uses_left")?,
        })
    }
}

/// The labels of a token.
struct InviteLabels(Labels);

impl FromRow for InviteLabels {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        json(row, "labels_json").map(Self)
    }
}

impl Store {
    /// Creates a token.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn create_invite(&self, new: NewInvite) -> Result<(), StoreError> {
        self.db().apply(creation(new)?).await.map(drop)
    }

    /// Returns the labels of the tokens that devices can use now: of the 1,000 that end first.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn labels_of_open_invites(&self, now: i64) -> Result<Vec<Labels>, StoreError> {
        let rows: Vec<InviteLabels> = self
            .db()
            .query(
                sql("SELECT labels_json FROM invites WHERE labels_json <> '{}' \
                     AND expires_at > $1 AND uses_left > 0 ORDER BY expires_at LIMIT 1000")
                .bind(now),
            )
            .await?;
        Ok(rows.into_iter().map(|InviteLabels(labels)| labels).collect())
    }
}

/// Returns what stores a new token, with its audit event.
pub(super) fn creation(new: NewInvite) -> Result<Batch, StoreError> {
    let event = AuditEvent::new(
        new.created_at,
        "invite.created",
        String::new(),
        &Created {
            invite_id: new.id,
            by: &new.created_by,
            device_name: new.name.as_ref(),
            uses: new.uses,
            preapproved: new.preapproved,
            grants: &new.grants,
            labels: &new.labels,
            scope: &new.scope,
            expires_at: new.expires_at,
        },
    )?;
    let scope = serde_json::to_string(&new.scope).map_err(|_| StoreError::Corrupt)?;
    let labels = serde_json::to_string(&new.labels).map_err(|_| StoreError::Corrupt)?;
    let insert = sql("INSERT INTO invites (id, secret_hash, device_name, uses_left, preapproved, \
         grants_json, labels_json, scope_json, created_by, created_at, expires_at) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)")
    .with(values![
        new.id,
        new.secret_hash,
        new.name,
        i64::from(new.uses),
        new.preapproved,
        new.grants,
        labels,
        scope,
        new.created_by,
        new.created_at,
        new.expires_at
    ]);
    Ok(Batch::new(Durability::Fsync).statement(insert).event(event))
}

/// A token as a candidate presents it.
#[derive(Debug)]
struct Presented {
    expires_at: i64,
    uses_left: i64,
    is_revoked: bool,
    scope: InviteScope,
}

impl FromRow for Presented {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self {
            expires_at: row.get("expires_at")?,
            uses_left: row.get("uses_left")?,
            is_revoked: row.get::<Option<i64>>("revoked_at")?.is_some(),
            scope: json(row, "scope_json")?,
        })
    }
}

/// Returns whether a candidate may spend a use of its token. A candidate outside the token's scope is audited;
/// it has shown the secret, so strangers cannot fill the audit log.
pub(super) async fn is_valid(
    tx: &mut Tx,
    candidate: &Candidate,
) -> Result<Result<(), RedeemError>, StoreError> {
    let Candidate { invite, secret_hash, platform, address, public_key_fingerprint, at, .. } =
        candidate;
    let found: Option<Presented> = tx
        .query_optional(
            sql("SELECT expires_at, uses_left, revoked_at, scope_json FROM invites \
                 WHERE id = $1 AND secret_hash = $2")
            .bind(*invite)
            .bind(*secret_hash),
        )
        .await?;
    let scope = match found {
        None => return Ok(Err(RedeemError::Unknown)),
        Some(Presented { is_revoked: true, .. }) => return Ok(Err(RedeemError::Revoked)),
        Some(Presented { expires_at, .. }) if expires_at <= *at => {
            return Ok(Err(RedeemError::Expired));
        }
        Some(Presented { uses_left, .. }) if uses_left <= 0 => return Ok(Err(RedeemError::Spent)),
        Some(Presented { scope, .. }) => scope,
    };
    let checked = scope.check(public_key_fingerprint, platform, *address);
    if let Err(error) = &checked {
        let body = RefusedEvent {
            invite_id: *invite,
            address: *address,
            platform,
            public_key_fingerprint,
            reason: error.to_string(),
        };
        tx.record(AuditEvent::new(*at, "invite.refused", String::new(), &body)?);
    }
    Ok(checked)
}

/// Spends one use of a valid token. A rollback of the transaction undoes it.
pub(super) async fn spend(tx: &mut Tx, id: InviteId, now: i64) -> Result<Invite, StoreError> {
    let invite: Invite = tx
        .query_one(
            sql("UPDATE invites SET uses_left = uses_left - 1 WHERE id = $1 AND \
                 uses_left > 0 RETURNING *")
            .bind(id),
        )
        .await?;
    let body = RedeemedEvent { invite_id: id, uses_left: invite.uses_left };
    tx.record(AuditEvent::new(now, "invite.redeemed", String::new(), &body)?);
    Ok(invite)
}
