//! Devices: enrolled, approved or held, with the facts and the limit that they report and the grants that
//! they have. The policy itself is in `policies`.

mod certificates;
mod enroll;
mod hello;
mod lookup;
mod memory;
mod mismatches;
mod modes;
mod row;

use orion_domain::{DeviceId, DeviceName, Digest, UserName};
use serde::Serialize;
use serde_json::value::RawValue;

use super::db::{AuditEvent, Batch, Durability, Tx, sql, values};
use super::{Store, StoreError};

pub use enroll::{Candidate, RedeemError, Redemption};
pub use hello::{Hello, HelloError};
pub use mismatches::{PolicyMismatch, PolicyMismatchKind};
pub use modes::ModeRow;
pub use row::{DeviceRow, DeviceState};

/// The maximum size of a limit that the audit log stores in full, in bytes.
const MAX_AUDITED_CEILING_BYTES: usize = 8 * 1024;

#[derive(Serialize)]
struct StateSetEvent<'a> {
    device_id: DeviceId,
    name: &'a DeviceName,
    from: DeviceState,
    /// None if the backend did it by itself.
    by: Option<&'a UserName>,
    reason: &'a str,
}

#[derive(Serialize)]
struct CeilingReportedEvent<'a> {
    device_id: DeviceId,
    before: RecordedCeiling<'a>,
    after: RecordedCeiling<'a>,
}

/// A limit in the audit log: in full, or as a digest if it is long. The device chooses the text, and the
/// audit log is kept for good.
#[derive(Serialize)]
#[serde(untagged)]
enum RecordedCeiling<'a> {
    Whole(Option<&'a RawValue>),
    Long { sha256: Digest, size_bytes: usize },
}

#[derive(Serialize)]
struct CeilingFaulty<'a> {
    device_id: DeviceId,
    fault: &'a str,
}

#[derive(Serialize)]
struct PermissionsSet<'a> {
    device_id: DeviceId,
    by: &'a UserName,
    version: &'a str,
    before: Option<&'a RawValue>,
    after: Option<&'a RawValue>,
}

fn shown(ceiling: Option<&str>) -> RecordedCeiling<'_> {
    match ceiling {
        Some(text) if text.len() > MAX_AUDITED_CEILING_BYTES => {
            RecordedCeiling::Long { sha256: Digest::of(text.as_bytes()), size_bytes: text.len() }
        }
        Some(text) => RecordedCeiling::Whole(raw(text)),
        None => RecordedCeiling::Whole(None),
    }
}

fn raw(json: &str) -> Option<&RawValue> {
    serde_json::from_str(json).ok()
}

/// Audits a limit that differs from the last one.
fn report_ceiling(
    tx: &mut Tx,
    now: i64,
    before: &DeviceRow,
    ceiling: &str,
) -> Result<(), StoreError> {
    if before.ceiling.as_deref() != Some(ceiling) {
        let body = CeilingReportedEvent {
            device_id: before.id,
            before: shown(before.ceiling.as_deref()),
            after: shown(Some(ceiling)),
        };
        tx.record(AuditEvent::new(now, "device.ceiling_told", String::new(), &body)?);
    }
    Ok(())
}

impl Store {
    /// Moves a device from one of the states `from` to another. Leaving quarantine resets the device's
    /// count of connections: an admin has decided which of two copies is the device, and the first hello
    /// sets the count that detects the other copy.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Conflict`] if it is in another state.
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
                if !from.contains(&before.state) {
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

    /// Stores a limit, JSON, that changed while the device is connected, and the facts with its workspace.
    /// `fault` says why the limit differs from the owner's file; empty if it does not. A change is audited,
    /// and so is a fault.
    ///
    /// # Errors
    /// There is no such device, or the database cannot be written.
    pub async fn record_ceiling(
        &self,
        id: DeviceId,
        facts: &str,
        ceiling: &str,
        fault: &str,
        now: i64,
    ) -> Result<(), StoreError> {
        let (facts, ceiling, fault) = (facts.to_owned(), ceiling.to_owned(), fault.to_owned());
        self.write(Durability::Commit, move |tx| {
            Box::pin(async move {
                let before = lookup::by_id(tx, id).await?.ok_or(StoreError::NotFound)?;
                tx.execute(
                    sql(
                        "UPDATE devices SET facts_json = $1, ceiling_json = $2, last_seen_at = $3 \
                     WHERE id = $4",
                    )
                    .with(values![facts, &ceiling, now, id]),
                )
                .await?;
                report_ceiling(tx, now, &before, &ceiling)?;
                if !fault.is_empty() {
                    let body = CeilingFaulty { device_id: id, fault: &fault };
                    tx.record(AuditEvent::new(now, "device.ceiling_faulty", String::new(), &body)?);
                }
                Ok(())
            })
        })
        .await
    }

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
