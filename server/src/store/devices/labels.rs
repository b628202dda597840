//! The labels that are stored with a device.

use orion_domain::{DeviceId, DeviceName, UserName};
use orion_policy::{LabelChange, LabelError, Labels};
use serde::Serialize;

use super::lookup;
use crate::store::db::{AuditEvent, Durability, sql, values};
use crate::store::{Store, StoreError};

/// Why labels were not changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SetLabelsError {
    /// There would be too many.
    #[error(transparent)]
    Labels(#[from] LabelError),
    /// The database failed, or there is no such device.
    #[error(transparent)]
    Store(#[from] StoreError),
}

#[derive(Serialize)]
struct LabelsSet<'a> {
    device_id: DeviceId,
    name: &'a DeviceName,
    by: &'a UserName,
    before: &'a Labels,
    after: &'a Labels,
}

impl Store {
    /// Changes the labels of a device. A change that changes nothing is not recorded.
    ///
    /// # Errors
    /// See [`SetLabelsError`].
    pub async fn set_labels(
        &self,
        id: DeviceId,
        change: LabelChange,
        by: &UserName,
        now: i64,
    ) -> Result<(), SetLabelsError> {
        let by = by.clone();
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let before = lookup::by_id(tx, id).await?.ok_or(StoreError::NotFound)?;
                let after = match change.apply(&before.labels) {
                    Ok(after) => after,
                    Err(error) => return Ok(Err(error.into())),
                };
                if after == before.labels {
                    return Ok(Ok(()));
                }
                let json = serde_json::to_string(&after).map_err(|_| StoreError::Corrupt)?;
                tx.execute(
                    sql("UPDATE devices SET labels_json = $1 WHERE id = $2")
                        .with(values![json, id]),
                )
                .await?;
                let body = LabelsSet {
                    device_id: id,
                    name: &before.name,
                    by: &by,
                    before: &before.labels,
                    after: &after,
                };
                tx.record(AuditEvent::new(now, "device.labels_set", String::new(), &body)?);
                Ok(Ok(()))
            })
        })
        .await?
    }
}
