//! Enrolment tokens: made by a person, spent by devices, one use at a time.

use orion_domain::id::InviteId;
use orion_domain::{DeviceName, Digest, UserName};
use serde::Serialize;
use sqlx::sqlite::SqliteRow;
use sqlx::{FromRow, Row as _};

use super::row::{parsed, parsed_option};
use super::writer::{Durability, Event};
use super::{Store, StoreError};

/// A token that is made. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewInvite {
    /// Its id; no secret.
    pub id: InviteId,
    /// SHA-256 of its secret.
    pub secret_hash: Digest,
    /// The name that the device will have; `None` to take what it suggests.
    pub name: Option<DeviceName>,
    /// How often it can be used.
    pub uses: u32,
    /// Whether devices are approved at once.
    pub preapproved: bool,
    /// The grants that the device begins with, JSON.
    pub grants: String,
    /// Who made it.
    pub created_by: UserName,
    /// When.
    pub created_at: i64,
    /// From when on it is worth nothing.
    pub expires_at: i64,
}

/// A token of which one use was spent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invite {
    /// Its id.
    pub id: InviteId,
    /// The name that the device will have; `None` to take what it suggests.
    pub name: Option<DeviceName>,
    /// Whether the device is approved at once.
    pub preapproved: bool,
    /// The grants that the device begins with, JSON.
    pub grants: String,
    /// Who made it.
    pub created_by: UserName,
    /// How many uses are left.
    pub uses_left: i64,
}

/// Why a token is worth nothing. Nothing was spent.
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
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What the audit holds of a token that is made.
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

/// What the audit holds of a use.
#[derive(Serialize)]
struct Redeemed {
    invite_id: InviteId,
    uses_left: i64,
}

impl FromRow<'_, SqliteRow> for Invite {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            id: parsed(row, "id")?,
            name: parsed_option(row, "device_name")?,
            preapproved: row.try_get("preapproved")?,
            grants: row.try_get("grants_json")?,
            created_by: parsed(row, "created_by")?,
            uses_left: row.try_get("uses_left")?,
        })
    }
}

impl Store {
    /// Makes a token.
    ///
    /// # Errors
    /// The record cannot be kept.
    pub async fn create_invite(&self, new: NewInvite) -> Result<(), StoreError> {
        let event = Event::new(
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
        self.write_one(Durability::Fsync, move |tx| {
            Box::pin(async move {
                sqlx::query(
                    "INSERT INTO invites (id, secret_hash, device_name, uses_left, preapproved, \
                     grants_json, created_by, created_at, expires_at) \
                     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
                )
                .bind(new.id.to_string())
                .bind(new.secret_hash.as_bytes().to_vec())
                .bind(new.name.map(String::from))
                .bind(i64::from(new.uses))
                .bind(new.preapproved)
                .bind(new.grants)
                .bind(String::from(new.created_by))
                .bind(new.created_at)
                .bind(new.expires_at)
                .execute(&mut tx.conn)
                .await?;
                tx.record(event);
                Ok(())
            })
        })
        .await
    }

    /// Spends one use of a token. However many try at once, each use has one winner.
    ///
    /// # Errors
    /// See [`RedeemError`].
    pub async fn redeem_invite(
        &self,
        id: InviteId,
        secret_hash: Digest,
        now: i64,
    ) -> Result<Invite, RedeemError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let invite: Option<Invite> = sqlx::query_as(
                    "UPDATE invites SET uses_left = uses_left - 1 WHERE id = $1 \
                     AND secret_hash = $2 AND expires_at > $3 AND uses_left > 0 RETURNING *",
                )
                .bind(id.to_string())
                .bind(secret_hash.as_bytes().to_vec())
                .bind(now)
                .fetch_optional(&mut tx.conn)
                .await?;
                if let Some(invite) = invite {
                    let body = Redeemed { invite_id: id, uses_left: invite.uses_left };
                    tx.record(Event::new(now, "invite.redeemed", String::new(), &body)?);
                    return Ok(Ok(invite));
                }
                let expires_at: Option<(i64,)> = sqlx::query_as(
                    "SELECT expires_at FROM invites WHERE id = $1 AND secret_hash = $2",
                )
                .bind(id.to_string())
                .bind(secret_hash.as_bytes().to_vec())
                .fetch_optional(&mut tx.conn)
                .await?;
                Ok(Err(match expires_at {
                    None => RedeemError::Unknown,
                    Some((expires_at,)) if expires_at <= now => RedeemError::Expired,
                    Some(_) => RedeemError::Spent,
                }))
            })
        })
        .await?
    }
}
