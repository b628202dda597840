//! The name of a device, and its removal from the list.

use orion_domain::{DeviceId, DeviceName, UserName};
use serde::Serialize;

use super::{DeviceRow, DeviceState, lookup};
use crate::store::db::{AuditEvent, Durability, sql, values};
use crate::store::{Store, StoreError};

/// Why a device was not renamed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RenameError {
    /// Another device has the name.
    #[error("another device has that name")]
    Taken,
    /// The identity of the device has ended.
    #[error("the identity of this device has ended, so it keeps the name that the audit log has")]
    Ended,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Serialize)]
struct Renamed<'a> {
    device_id: DeviceId,
    name: &'a DeviceName,
    from: &'a DeviceName,
    by: &'a UserName,
}

#[derive(Serialize)]
struct Removed<'a> {
    device_id: DeviceId,
    name: &'a DeviceName,
    by: &'a UserName,
}

const fn has_ended(state: DeviceState) -> bool {
    matches!(state, DeviceState::Rejected | DeviceState::Revoked)
}

impl Store {
    /// Gives a device another name, which no device has whose identity has not ended. Returns the device as it
    /// was before.
    ///
    /// # Errors
    /// See [`RenameError`].
    pub async fn rename_device(
        &self,
        id: DeviceId,
        name: &DeviceName,
        by: &UserName,
        now: i64,
    ) -> Result<DeviceRow, RenameError> {
        let (name, by) = (name.clone(), by.clone());
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let before = lookup::by_id(tx, id).await?.ok_or(StoreError::NotFound)?;
                if has_ended(before.state) {
                    return Ok(Err(RenameError::Ended));
                }
                if before.name == name {
                    return Ok(Ok(before));
                }
                let is_taken = tx
                    .exists(
                        sql("SELECT 1 FROM devices WHERE name = $1 AND state NOT IN ('rejected', 'revoked')")
                            .bind(name.as_str()),
                    )
                    .await?;
                if is_taken {
                    return Ok(Err(RenameError::Taken));
                }
                tx.execute(
                    sql("UPDATE devices SET name = $1 WHERE id = $2").with(values![name.as_str(), id]),
                )
                .await?;
                let body = Renamed { device_id: id, name: &name, from: &before.name, by: &by };
                tx.record(AuditEvent::new(now, "device.renamed", String::new(), &body)?);
                Ok(Ok(before))
            })
        })
        .await?
    }

    /// Lists a device no more. Its row stays, for the calls and certificates that name it.
    ///
    /// # Errors
    /// [`StoreError::NotFound`], also if it was removed before; [`StoreError::Conflict`] if its identity has not ended.
    pub async fn remove_device(
        &self,
        id: DeviceId,
        by: &UserName,
        now: i64,
    ) -> Result<(), StoreError> {
        let by = by.clone();
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let before = lookup::by_id(tx, id).await?.ok_or(StoreError::NotFound)?;
                if !has_ended(before.state) {
                    return Err(StoreError::Conflict);
                }
                let removed = tx
                    .execute(
                        sql("UPDATE devices SET removed_at = $1 WHERE id = $2 AND removed_at IS NULL")
                            .with(values![now, id]),
                    )
                    .await?;
                if removed == 0 {
                    return Err(StoreError::NotFound);
                }
                let body = Removed { device_id: id, name: &before.name, by: &by };
                tx.record(AuditEvent::new(now, "device.removed", String::new(), &body)?);
                Ok(())
            })
        })
        .await
    }
}
