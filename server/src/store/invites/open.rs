//! The tokens that devices can still use: lists them, and ends one.

use std::collections::BTreeSet;

use orion_domain::id::InviteId;
use orion_domain::{DeviceName, UserName};
use orion_policy::Labels;
use serde::Serialize;

use super::InviteScope;
use crate::store::columns::{id_range, json, only, parsed, parsed_option};
use crate::store::db::{AuditEvent, DecodeError, Durability, FromRow, Row, sql, values};
use crate::store::{Store, StoreError};

/// How many tokens are listed: those that end first.
const MAX_LISTED: i64 = 200;

/// A token that devices can still use. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OpenInvite {
    /// Its id.
    pub id: InviteId,
    /// The device's name. `None` to use the name that the device suggests.
    pub name: Option<DeviceName>,
    /// The remaining uses.
    pub uses_left: u32,
    /// Whether devices are approved at once.
    pub preapproved: bool,
    /// The devices' first grants, JSON.
    pub grants: String,
    /// The labels of the devices.
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

impl FromRow for OpenInvite {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        let uses_left = u32::try_from(row.get::<i64>("uses_left")?);
        Ok(Self {
            id: parsed(row, "id")?,
            name: parsed_option(row, "device_name")?,
            uses_left: uses_left.map_err(|error| DecodeError::new("uses_left", error))?,
            preapproved: row.get("preapproved")?,
            grants: row.get("grants_json")?,
            labels: json(row, "labels_json")?,
            scope: json(row, "scope_json")?,
            created_by: parsed(row, "created_by")?,
            created_at: row.get("created_at")?,
            expires_at: row.get("expires_at")?,
        })
    }
}

/// The audit event of a token that was withdrawn.
#[derive(Serialize)]
struct Revoked<'a> {
    invite_id: InviteId,
    by: &'a UserName,
    device_name: Option<&'a DeviceName>,
    uses_left: u32,
}

impl Store {
    /// Returns the tokens that devices can use now, those that end first before others, and whether there are more.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn open_invites(&self, now: i64) -> Result<(Vec<OpenInvite>, bool), StoreError> {
        let mut rows: Vec<OpenInvite> = self
            .db()
            .query(
                sql("SELECT * FROM invites WHERE expires_at > $1 AND uses_left > 0 \
                     ORDER BY expires_at, id LIMIT $2")
                .bind(now)
                .bind(MAX_LISTED + 1),
            )
            .await?;
        let most = usize::try_from(MAX_LISTED).unwrap_or(usize::MAX);
        let has_more = rows.len() > most;
        rows.truncate(most);
        Ok((rows, has_more))
    }

    /// Withdraws a token by its id or a prefix of the id: no device can use it from then on. Devices that used it stay;
    /// the names of those whose identity has not ended are returned, 100 at most.
    ///
    /// # Errors
    /// [`StoreError::NotFound`] if there is none that can still be used; [`StoreError::Ambiguous`] if several such ids
    /// have this prefix.
    pub async fn revoke_invite(
        &self,
        id: &str,
        by: &UserName,
        now: i64,
    ) -> Result<(OpenInvite, Vec<DeviceName>), StoreError> {
        let (from, to) = id_range(id).ok_or(StoreError::NotFound)?;
        let by = by.clone();
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let found = sql("SELECT * FROM invites WHERE id >= $1 AND id < $2 \
                     AND expires_at > $3 AND uses_left > 0 LIMIT 2");
                let invite: OpenInvite = only(tx.query(found.with(values![from, to, now])).await?)?;
                let end =
                    sql("UPDATE invites SET uses_left = 0, revoked_at = $1, revoked_by = $2 \
                     WHERE id = $3");
                tx.execute(end.with(values![now, by.as_str(), invite.id])).await?;
                let body = Revoked {
                    invite_id: invite.id,
                    by: &by,
                    device_name: invite.name.as_ref(),
                    uses_left: invite.uses_left,
                };
                tx.record(AuditEvent::new(now, "invite.revoked", String::new(), &body)?);
                let used = sql("SELECT name FROM devices WHERE invite_id = $1 \
                     AND state NOT IN ('rejected', 'revoked') LIMIT 100");
                let used: Vec<(String,)> = tx.query(used.bind(invite.id)).await?;
                let used = used.into_iter().map(|(name,)| name.parse());
                let used =
                    used.collect::<Result<BTreeSet<_>, _>>().map_err(|_| StoreError::Corrupt)?;
                let used = used.into_iter().collect();
                Ok((invite, used))
            })
        })
        .await
    }
}
