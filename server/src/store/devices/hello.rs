//! A device's hello: stores what the device reports, and detects copies by its count of connections.
//!
//! A device increments the count on its own disk for each connection, before the hello. A connection that
//! began after a stored hello therefore has a higher count, even if messages were lost. If its count is not
//! higher, the device was copied. A hello on a connection that is older than the last stored hello is only
//! late.

use std::time::Instant;

use orion_domain::DeviceId;
use serde::Serialize;

use super::ceiling::report_ceiling;
use super::{DeviceRow, DeviceState, lookup};
use crate::store::db::{AuditEvent, Durability, sql, values};
use crate::store::{Store, StoreError};

/// A device's hello.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// The device's facts, JSON.
    pub facts: String,
    /// The limit of its owner, JSON.
    pub ceiling: String,
    /// Its agent's version.
    pub agent_version: String,
    /// The fingerprints of the authorities that it trusts, hexadecimal, separated by spaces. None from an
    /// older agent.
    pub trusts: Option<String>,
    /// Its count of connections.
    pub generation: i64,
    /// The serial number of the certificate that it showed, hexadecimal.
    pub serial: String,
    /// When the connection began.
    pub since: Instant,
    /// When the hello arrived, Unix milliseconds.
    pub at: i64,
}

/// A device that came back after its certificate had expired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Return {
    /// Its count of connections.
    pub generation: i64,
    /// When the connection began.
    pub since: Instant,
    /// The serial number of the expired certificate, hexadecimal.
    pub serial: String,
    /// When that certificate expired, Unix milliseconds.
    pub expired_at: i64,
    /// When it came back, Unix milliseconds.
    pub at: i64,
}

#[derive(Serialize)]
struct ReturnedEvent<'a> {
    device_id: DeviceId,
    serial: &'a str,
    expired_at: i64,
}

/// Why a hello is rejected.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// The device has sent a higher count before: there are two copies of it.
    #[error("this device has connected with a later generation before; its state was copied")]
    GenerationBackwards,
    /// A newer connection of the device has sent its hello before this one.
    #[error("a newer connection of this device has greeted already")]
    Overtaken,
    /// A person holds the device back.
    #[error("this device is {}", .0.as_str())]
    Held(DeviceState),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Stores what an approved device reports when it connects. The first hello proves that the device has
    /// its certificate, so it ends the enrolment ticket. A changed limit is audited.
    ///
    /// # Errors
    /// See [`HelloError`].
    pub async fn record_hello(&self, id: DeviceId, hello: Hello) -> Result<(), HelloError> {
        let greeted = std::sync::Arc::clone(&self.inner.greeted);
        self.write(Durability::Commit, move |tx| {
            Box::pin(async move {
                let Hello { facts, ceiling, agent_version, trusts, generation, serial, since, at } =
                    hello;
                let before = lookup::by_id(tx, id).await?.ok_or(StoreError::NotFound)?;
                // After a restart, every stored hello is older than every connection.
                let is_late = greeted.get(&id).is_some_and(|last| *last >= since);
                if let Err(error) = counts(&before, generation, is_late) {
                    return Ok(Err(error));
                }
                tx.execute(
                    sql("UPDATE devices SET facts_json = $1, ceiling_json = $2, \
                 agent_version = $3, generation = $4, last_seen_at = $5, \
                 ticket_hash = NULL, trusts = $6 WHERE id = $7")
                    .with(values![facts, &ceiling, agent_version, generation, at, trusts, id]),
                )
                .await?;
                tx.execute(
                    sql("UPDATE certificates SET shown_at = $1 WHERE serial = $2 AND \
                 device_id = $3 AND shown_at IS NULL")
                    .with(values![at, serial, id]),
                )
                .await?;
                report_ceiling(tx, at, &before, &ceiling)?;
                // Transactions run one at a time, so this is the time at which the count was stored.
                greeted.insert(id, Instant::now());
                Ok(Ok(()))
            })
        })
        .await?
    }

    /// Stores that an approved device came back after its certificate had expired, and its count of
    /// connections. It is audited.
    ///
    /// # Errors
    /// See [`HelloError`].
    pub async fn record_return(&self, id: DeviceId, back: Return) -> Result<(), HelloError> {
        let greeted = std::sync::Arc::clone(&self.inner.greeted);
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                let Return { generation, since, serial, expired_at, at } = back;
                let before = lookup::by_id(tx, id).await?.ok_or(StoreError::NotFound)?;
                let is_late = greeted.get(&id).is_some_and(|last| *last >= since);
                if let Err(error) = counts(&before, generation, is_late) {
                    return Ok(Err(error));
                }
                tx.execute(
                    sql("UPDATE devices SET generation = $1, last_seen_at = $2 WHERE id = $3")
                        .with(values![generation, at, id]),
                )
                .await?;
                let body = ReturnedEvent { device_id: id, serial: &serial, expired_at };
                tx.record(AuditEvent::new(at, "device.returned", String::new(), &body)?);
                greeted.insert(id, Instant::now());
                Ok(Ok(()))
            })
        })
        .await?
    }
}

/// Checks that a device is approved and that its count of connections has grown. `is_late` says whether its
/// connection is older than the last hello.
const fn counts(before: &DeviceRow, generation: i64, is_late: bool) -> Result<(), HelloError> {
    if !matches!(before.state, DeviceState::Approved) {
        return Err(HelloError::Held(before.state));
    }
    if before.generation < generation {
        return Ok(());
    }
    Err(if is_late { HelloError::Overtaken } else { HelloError::GenerationBackwards })
}
