//! The limit that a device's owner set, as the device reports it.

use orion_domain::{DeviceId, Digest};
use serde::Serialize;
use serde_json::value::RawValue;

use super::{DeviceRow, lookup, raw};
use crate::store::db::{AuditEvent, Durability, Tx, sql, values};
use crate::store::{Store, StoreError};

/// The maximum size of a limit that the audit log stores in full, in bytes.
const MAX_AUDITED_CEILING_BYTES: usize = 8 * 1024;

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

impl Store {
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

/// Audits a limit that differs from the last one.
pub(super) fn report_ceiling(
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
