//! The grants of a device, and which version of its policy it reports.

use orion_domain::{DeviceId, UserName};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{PolicyMismatch, lookup, raw};
use crate::store::db::{AuditEvent, Batch, Durability, sql, values};
use crate::store::{Store, StoreError};

#[derive(Serialize)]
struct PermissionsSet<'a> {
    device_id: DeviceId,
    by: &'a UserName,
    version: &'a str,
    before: Option<&'a RawValue>,
    after: Option<&'a RawValue>,
}

impl Store {
    /// Replaces the grants of a device, JSON. With `expected_version`, only if that is the stored version.
    /// Before the first change no version is stored, and any is accepted.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Conflict`] if another version is stored.
    pub async fn set_grants(
        &self,
        id: DeviceId,
        grants: &str,
        version: &str,
        expected_version: Option<&str>,
        by: &UserName,
        now: i64,
    ) -> Result<(), StoreError> {
        let (grants, version, by) = (grants.to_owned(), version.to_owned(), by.clone());
        let expected = expected_version.map(str::to_owned);
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let before = lookup::by_id(tx, id).await?.ok_or(StoreError::NotFound)?;
                if expected.is_some()
                    && before.policy_version.is_some()
                    && expected != before.policy_version
                {
                    return Err(StoreError::Conflict);
                }
                tx.execute(
                    sql("UPDATE devices SET grants_json = $1, policy_version = $2 WHERE id = $3")
                        .with(values![&grants, &version, id]),
                )
                .await?;
                let body = PermissionsSet {
                    device_id: id,
                    by: &by,
                    version: &version,
                    before: raw(&before.grants),
                    after: raw(&grants),
                };
                tx.record(AuditEvent::new(now, "device.permissions_set", String::new(), &body)?);
                Ok(())
            })
        })
        .await
    }

    /// Stores which version of its policy a device reports, and how the device differs from what that
    /// version names.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn acknowledge_policy(
        &self,
        id: DeviceId,
        version: &str,
        found: &[PolicyMismatch],
        now: i64,
    ) -> Result<(), StoreError> {
        let version = version.to_owned();
        let found = serde_json::to_string(found).map_err(|_| StoreError::Corrupt)?;
        // A device that reconnects repeats its report.
        let known: Option<(i64,)> = self
            .db()
            .query_optional(
                sql("SELECT 1 FROM devices WHERE id = $1 AND acknowledged_version = \
                 $2 AND policy_findings_json = $3")
                .with(values![id, &version, &found]),
            )
            .await?;
        if known.is_some() {
            return Ok(());
        }
        self.db()
            .apply(
                Batch::new(Durability::Commit).statement(
                    sql(
                        "UPDATE devices SET acknowledged_version = $1, policy_findings_json = $2, \
                     last_seen_at = $3 WHERE id = $4",
                    )
                    .with(values![version, found, now, id])
                    .exactly(1),
                ),
            )
            .await?
            .or(StoreError::NotFound)
            .map(drop)
    }
}
