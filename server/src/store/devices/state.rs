//! The state of a device, which people and the backend change, and when it was last seen.

use orion_domain::{DeviceId, DeviceName, UserName};
use serde::Serialize;

use super::{DeviceRow, DeviceState, lookup, memory};
use crate::store::db::{AuditEvent, Batch, Durability, sql};
use crate::store::{Store, StoreError};

#[derive(Serialize)]
struct StateSetEvent<'a> {
    device_id: DeviceId,
    name: &'a DeviceName,
    from: DeviceState,
    /// None if the backend did it by itself.
    by: Option<&'a UserName>,
    reason: &'a str,
}

impl Store {
    /// Moves a device from one of the states `from` to another. Leaving quarantine resets the device's
    /// count of connections: an admin has decided which of two copies is the device, and the first hello
    /// sets the count that detects the other copy.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Conflict`] if it is in another state, or is the backend itself.
    pub async fn set_device_state<'a>(
        &self,
        id: DeviceId,
        from: &[DeviceState],
        to: DeviceState,
        by: impl Into<Option<&'a UserName>>,
        reason: &str,
        now: i64,
    ) -> Result<DeviceRow, StoreError> {
        let (from, by, reason) = (from.to_vec(), by.into().cloned(), reason.to_owned());
        let greeted = std::sync::Arc::clone(&self.inner.greeted);
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let before = lookup::by_id(tx, id).await?.ok_or(StoreError::NotFound)?;
                if id == DeviceId::BACKEND || !from.contains(&before.state) {
                    return Err(StoreError::Conflict);
                }
                let resets_generation =
                    before.state == DeviceState::Quarantined && to == DeviceState::Approved;
                if resets_generation {
                    // The first copy to connect is accepted, and may not know what the other one ran.
                    tx.execute(memory::forget(id, now)).await?;
                    tx.execute(sql("UPDATE devices SET generation = 0 WHERE id = $1").bind(id))
                        .await?;
                    greeted.remove(&id);
                }
                let after = tx
                    .query_one(
                        sql("UPDATE devices SET state = $1 WHERE id = $2 RETURNING *")
                            .bind(to.as_str())
                            .bind(id),
                    )
                    .await?;
                let body = StateSetEvent {
                    device_id: id,
                    name: &before.name,
                    from: before.state,
                    by: by.as_ref(),
                    reason: &reason,
                };
                tx.record(AuditEvent::new(now, to.event(), String::new(), &body)?);
                Ok(after)
            })
        })
        .await
    }

    /// Stores when a device was last seen.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn touch_device(&self, id: DeviceId, now: i64) -> Result<(), StoreError> {
        self.db()
            .apply(
                Batch::new(Durability::Commit).statement(
                    sql("UPDATE devices SET last_seen_at = $1 WHERE id = $2")
                        .bind(now)
                        .bind(id)
                        .exactly(1),
                ),
            )
            .await?
            .or(StoreError::NotFound)
            .map(drop)
    }
}
