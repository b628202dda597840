//! A device greets: what it says of itself is kept, and its count of connections betrays a copy.
//!
//! A device counts up, on its own disk, each time a connection of its stands and before it greets. Of
//! one that began after a greeting was kept here, the count is therefore higher than in that greeting,
//! whatever happens to messages on the way; where it is not, there are two of the device. A greeting on
//! a connection that is older than the last one kept was merely late.

use std::time::Instant;

use orion_domain::DeviceId;

use super::{DeviceState, lookup, report_ceiling};
use crate::store::writer::Durability;
use crate::store::{Store, StoreError};

/// A device's greeting, as it is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    /// What it says of itself, JSON.
    pub facts: String,
    /// What its owner leaves at most, JSON.
    pub ceiling: String,
    /// Its agent's version.
    pub agent_version: String,
    /// The fingerprints of the authorities that it trusts, hexadecimal, with spaces between; none where an
    /// older agent does not tell.
    pub trusts: Option<String>,
    /// Its count of connections.
    pub generation: i64,
    /// The serial number of the certificate that it showed, hexadecimal.
    pub serial: String,
    /// When the connection began.
    pub since: Instant,
    /// When it greets, Unix milliseconds.
    pub at: i64,
}

/// Why a greeting does not count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum HelloError {
    /// The device counts its connections, and has been ahead of this one: there are two of it.
    #[error("this device has connected with a later generation before; its state was copied")]
    GenerationBackwards,
    /// A newer connection of the device has greeted while this one was on its way.
    #[error("a newer connection of this device has greeted already")]
    Overtaken,
    /// It is held back by a person.
    #[error("this device is {}", .0.as_str())]
    Held(DeviceState),
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Store {
    /// Keeps what an approved device said of itself when it connected. With its first greeting it has
    /// shown its certificate, so that its enrolment ticket ends. A ceiling that differs from the one
    /// before is audited.
    ///
    /// # Errors
    /// See [`HelloError`].
    pub async fn record_hello(&self, id: DeviceId, hello: Hello) -> Result<(), HelloError> {
        let greeted = std::sync::Arc::clone(&self.inner.greeted);
        self.write(Durability::Commit, move |tx| {
            Box::pin(async move {
                let Hello {
                    facts,
                    ceiling,
                    agent_version,
                    trusts,
                    generation,
                    serial,
                    since,
                    at,
                } = hello;
                let before = lookup::by_id(tx, id).await?.ok_or(StoreError::NotFound)?;
                if before.state != DeviceState::Approved {
                    return Ok(Err(HelloError::Held(before.state)));
                }
                if before.generation >= generation {
                    // After a start everything that was kept is older than every connection.
                    let late = greeted.get(&id).is_some_and(|last| *last >= since);
                    return Ok(Err(if late {
                        HelloError::Overtaken
                    } else {
                        HelloError::GenerationBackwards
                    }));
                }
                sqlx::query(
                    "UPDATE devices SET facts_json = $1, ceiling_json = $2, agent_version = $3, \
                     generation = $4, last_seen_at = $5, ticket_hash = NULL, trusts = $6 WHERE id = $7",
                )
                .bind(facts)
                .bind(&ceiling)
                .bind(agent_version)
                .bind(generation)
                .bind(at)
                .bind(trusts)
                .bind(id.to_string())
                .execute(&mut tx.conn)
                .await?;
                sqlx::query(
                    "UPDATE certificates SET shown_at = $1 \
                     WHERE serial = $2 AND device_id = $3 AND shown_at IS NULL",
                )
                .bind(at)
                .bind(serial)
                .bind(id.to_string())
                .execute(&mut tx.conn)
                .await?;
                report_ceiling(tx, at, &before, &ceiling)?;
                // Changes run one at a time, so that this is when the count was kept.
                greeted.insert(id, Instant::now());
                Ok(Ok(()))
            })
        })
        .await?
    }
}
