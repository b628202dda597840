//! Enrolment tokens: created by a person, spent by devices, one use at a time.

use orion_domain::id::InviteId;
use orion_domain::{DeviceName, Digest, UserName};
use serde::Serialize;

use super::columns::parsed_option;
use super::db::{AuditEvent, Batch, DecodeError, Durability, FromRow, Row, Tx, sql, values};
use super::devices::RedeemError;
use super::{Store, StoreError};

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
    expires_at: i64,
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
            uses_left: row.get("uses_left")?,
        })
    }
}

impl Store {
    /// Creates a token.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn create_invite(&self, new: NewInvite) -> Result<(), StoreError> {
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
                expires_at: new.expires_at,
            },
        )?;
        self.db()
            .apply(
                Batch::new(Durability::Fsync)
                    .statement(
                        sql("INSERT INTO invites (id, secret_hash, device_name, uses_left, \
                 preapproved, grants_json, created_by, created_at, expires_at) \
                 VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)")
                        .with(values![
                            new.id,
                            new.secret_hash,
                            new.name,
                            i64::from(new.uses),
                            new.preapproved,
                            new.grants,
                            new.created_by,
                            new.created_at,
                            new.expires_at
                        ]),
                    )
                    .event(event),
            )
            .await
            .map(drop)
    }
}

/// Returns whether a use of a token can be spent at `now`.
pub(super) async fn is_valid(
    tx: &mut Tx,
    id: InviteId,
    secret_hash: Digest,
    now: i64,
) -> Result<Result<(), RedeemError>, StoreError> {
    let found: Option<(i64, i64)> = tx
        .query_optional(
            sql("SELECT expires_at, uses_left FROM invites WHERE id = $1 AND secret_hash = $2")
                .bind(id)
                .bind(secret_hash),
        )
        .await?;
    Ok(match found {
        None => Err(RedeemError::Unknown),
        Some((expires_at, _)) if expires_at <= now => Err(RedeemError::Expired),
        Some((_, uses_left)) if uses_left <= 0 => Err(RedeemError::Spent),
        Some(_) => Ok(()),
    })
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
