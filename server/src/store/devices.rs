//! Devices: taken in, approved or held, what they said of themselves, what they are lent.

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

use super::writer::{Durability, Event, Tx};
use super::{Store, StoreError};

pub use enroll::{Candidate, RedeemError, Redemption};
pub use hello::{Hello, HelloError};
pub use mismatches::{PolicyMismatch, PolicyMismatchKind};
pub use modes::ModeRow;
pub use row::{DeviceRow, DeviceState};

/// The longest ceiling that the audit holds itself, in bytes.
const AUDITED: usize = 8 * 1024;

#[derive(Serialize)]
struct StateSetEvent<'a> {
    device_id: DeviceId,
    name: &'a DeviceName,
    from: DeviceState,
    /// Absent where the backend did it by itself.
    by: Option<&'a UserName>,
    reason: &'a str,
}

#[derive(Serialize)]
struct CeilingTold<'a> {
    device_id: DeviceId,
    before: RecordedCeiling<'a>,
    after: RecordedCeiling<'a>,
}

/// What the audit holds of a ceiling: itself, or the digest of one that is long. It is the device's
/// own word, and the audit is kept for good.
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
        Some(text) if text.len() > AUDITED => {
            RecordedCeiling::Long { sha256: Digest::of(text.as_bytes()), size_bytes: text.len() }
        }
        Some(text) => RecordedCeiling::Whole(raw(text)),
        None => RecordedCeiling::Whole(None),
    }
}

fn raw(json: &str) -> Option<&RawValue> {
    serde_json::from_str(json).ok()
}

/// Notes a ceiling that is another than before.
fn report_ceiling(
    tx: &mut Tx,
    now: i64,
    before: &DeviceRow,
    ceiling: &str,
) -> Result<(), StoreError> {
    if before.ceiling.as_deref() != Some(ceiling) {
        let body = CeilingTold {
            device_id: before.id,
            before: shown(before.ceiling.as_deref()),
            after: shown(Some(ceiling)),
        };
        tx.record(Event::new(now, "device.ceiling_told", String::new(), &body)?);
    }
    Ok(())
}

impl Store {
    /// Moves a device from one of the states `from` to another. One that comes out of quarantine counts its
    /// connections anew: which of two copies is the device, an admin has decided, and whichever comes first
    /// sets the count that betrays the other.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Conflict`] where it is in another state.
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
                let starts_anew =
                    before.state == DeviceState::Quarantined && to == DeviceState::Approved;
                if starts_anew {
                    // Whichever of two comes first counts, and may not know of what the other ran.
                    memory::forget(tx, id, now).await?;
                    sqlx::query("UPDATE devices SET generation = 0 WHERE id = $1")
                        .bind(id.to_string())
                        .execute(&mut tx.conn)
                        .await?;
                    greeted.remove(&id);
                }
                let after =
                    sqlx::query_as("UPDATE devices SET state = $1 WHERE id = $2 RETURNING *")
                        .bind(to.as_str())
                        .bind(id.to_string())
                        .fetch_one(&mut tx.conn)
                        .await?;
                let body = StateSetEvent {
                    device_id: id,
                    name: &before.name,
                    from: before.state,
                    by: by.as_ref(),
                    reason: &reason,
                };
                tx.record(Event::new(now, to.event(), String::new(), &body)?);
                Ok(after)
            })
        })
        .await
    }

    /// Keeps a ceiling, JSON, that changed while the device is connected, and the facts with the
    /// workspace that it gives. `fault` says why it is not what the owner's file says; empty where it
    /// is. A change is audited, and so is a fault.
    ///
    /// # Errors
    /// There is no such device, or the record cannot be kept.
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
                sqlx::query(
                    "UPDATE devices SET facts_json = $1, ceiling_json = $2, last_seen_at = $3 \
                     WHERE id = $4",
                )
                .bind(facts)
                .bind(&ceiling)
                .bind(now)
                .bind(id.to_string())
                .execute(&mut tx.conn)
                .await?;
                report_ceiling(tx, now, &before, &ceiling)?;
                if !fault.is_empty() {
                    let body = CeilingFaulty { device_id: id, fault: &fault };
                    tx.record(Event::new(now, "device.ceiling_faulty", String::new(), &body)?);
                }
                Ok(())
            })
        })
        .await
    }

    /// Replaces the grants of a device, JSON. With `expected_version`, only where that is the
    /// version on record; before the first change none is, and any is taken.
    ///
    /// # Errors
    /// [`StoreError::NotFound`]; [`StoreError::Conflict`] where another version has come.
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
                sqlx::query(
                    "UPDATE devices SET grants_json = $1, policy_version = $2 WHERE id = $3",
                )
                .bind(&grants)
                .bind(&version)
                .bind(id.to_string())
                .execute(&mut tx.conn)
                .await?;
                let body = PermissionsSet {
                    device_id: id,
                    by: &by,
                    version: &version,
                    before: raw(&before.grants),
                    after: raw(&grants),
                };
                tx.record(Event::new(now, "device.permissions_set", String::new(), &body)?);
                Ok(())
            })
        })
        .await
    }

    /// Keeps which version of its policy a device says it holds, and what it found beside what that
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
        // A device that comes back says what it said before.
        let known: Option<(i64,)> = sqlx::query_as(
            "SELECT 1 FROM devices WHERE id = $1 AND acknowledged_version = $2 AND policy_findings_json = $3",
        )
        .bind(id.to_string())
        .bind(&version)
        .bind(&found)
        .fetch_optional(self.reads())
        .await?;
        if known.is_some() {
            return Ok(());
        }
        self.write_one(Durability::Commit, move |tx| {
            Box::pin(async move {
                let done = sqlx::query(
                    "UPDATE devices SET acknowledged_version = $1, policy_findings_json = $2, \
                     last_seen_at = $3 WHERE id = $4",
                )
                .bind(version)
                .bind(found)
                .bind(now)
                .bind(id.to_string())
                .execute(&mut tx.conn)
                .await?;
                if done.rows_affected() == 0 { Err(StoreError::NotFound) } else { Ok(()) }
            })
        })
        .await
    }

    /// Keeps when a device was last seen.
    ///
    /// # Errors
    /// [`StoreError::NotFound`].
    pub async fn touch_device(&self, id: DeviceId, now: i64) -> Result<(), StoreError> {
        self.write_one(Durability::Commit, move |tx| {
            Box::pin(async move {
                let done = sqlx::query("UPDATE devices SET last_seen_at = $1 WHERE id = $2")
                    .bind(now)
                    .bind(id.to_string())
                    .execute(&mut tx.conn)
                    .await?;
                if done.rows_affected() == 0 { Err(StoreError::NotFound) } else { Ok(()) }
            })
        })
        .await
    }
}
