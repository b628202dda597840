//! The authorities that vouch for devices: when each began and ceased to count, and who still holds
//! certificates of one.

use std::path::Path;

use serde::Serialize;
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::writer::{Durability, Event};
use super::{BUSY_TIMEOUT, Store, StoreError};

/// A device that holds certificates of an authority and has not shown one of another yet.
#[derive(Debug, Clone, PartialEq, Eq, sqlx::FromRow)]
pub struct Holder {
    /// Its name.
    pub name: String,
    /// When the last of them ends, Unix milliseconds.
    pub not_after: i64,
}

#[derive(Serialize)]
struct Changed<'a> {
    fingerprint: &'a str,
    /// Whether devices are signed by it from here on; absent where it counts no longer.
    #[serde(skip_serializing_if = "Option::is_none")]
    signs: Option<bool>,
}

impl Store {
    /// Keeps which authorities count, the one that signs first, by the fingerprints of their
    /// certificates, hexadecimal. What is other than before is audited, as `authority.trusted` and
    /// `authority.retired`.
    ///
    /// # Errors
    /// The record cannot be kept.
    pub async fn record_authorities(
        &self,
        fingerprints: Vec<String>,
        now: i64,
    ) -> Result<(), StoreError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                // Certificates of before there could be two are the oldest one's.
                sqlx::query("UPDATE certificates SET authority = $1 WHERE authority = ''")
                    .bind(fingerprints.last())
                    .execute(&mut tx.conn)
                    .await?;
                for (at, fingerprint) in fingerprints.iter().enumerate() {
                    let done = sqlx::query(
                        "INSERT INTO authorities (fingerprint, trusted_at) VALUES ($1, $2) \
                         ON CONFLICT (fingerprint) DO UPDATE SET retired_at = NULL, \
                         trusted_at = excluded.trusted_at WHERE retired_at IS NOT NULL",
                    )
                    .bind(fingerprint)
                    .bind(now)
                    .execute(&mut tx.conn)
                    .await?;
                    if done.rows_affected() > 0 {
                        let body = Changed { fingerprint, signs: Some(at == 0) };
                        tx.record(Event::new(now, "authority.trusted", String::new(), &body)?);
                    }
                }
                let standing: Vec<(String,)> = sqlx::query_as(
                    "SELECT fingerprint FROM authorities WHERE retired_at IS NULL \
                     ORDER BY fingerprint",
                )
                .fetch_all(&mut tx.conn)
                .await?;
                for (gone,) in standing.iter().filter(|(one,)| !fingerprints.contains(one)) {
                    sqlx::query("UPDATE authorities SET retired_at = $1 WHERE fingerprint = $2")
                        .bind(now)
                        .bind(gone)
                        .execute(&mut tx.conn)
                        .await?;
                    let body = Changed { fingerprint: gone, signs: None };
                    tx.record(Event::new(now, "authority.retired", String::new(), &body)?);
                }
                Ok(())
            })
        })
        .await
    }
}

impl Store {
    /// Whether any authority was ever trusted, or a device enrolled.
    ///
    /// # Errors
    /// The record cannot be read.
    pub async fn knows_authorities(&self) -> Result<bool, StoreError> {
        let (known,): (bool,) = sqlx::query_as(
            "SELECT EXISTS (SELECT 1 FROM authorities) OR EXISTS (SELECT 1 FROM devices)",
        )
        .fetch_one(&self.inner.reads)
        .await?;
        Ok(known)
    }
}

/// The devices that hold certificates of this authority which have not ended at `now`, and have not
/// connected with one of another yet, by name. The record may be in use.
///
/// # Errors
/// The record cannot be read.
pub async fn holders_of(path: &Path, authority: &str, now: i64) -> Result<Vec<Holder>, StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(path)
        .read_only(true)
        .busy_timeout(BUSY_TIMEOUT)
        .disable_statement_logging();
    let mut connection = options.connect().await?;
    let holders = sqlx::query_as(
        "SELECT devices.name AS name, MAX(held.not_after) AS not_after \
         FROM certificates AS held JOIN devices ON devices.id = held.device_id \
         WHERE held.authority IN ($1, '') AND held.not_after > $2 \
         AND devices.state NOT IN ('rejected', 'revoked') AND NOT EXISTS ( \
             SELECT 1 FROM certificates AS other WHERE other.device_id = held.device_id \
             AND other.authority NOT IN ($1, '') AND other.shown_at IS NOT NULL \
             AND other.not_after > $2) \
         GROUP BY devices.id ORDER BY devices.name",
    )
    .bind(authority)
    .bind(now)
    .fetch_all(&mut connection)
    .await;
    connection.close().await?;
    Ok(holders?)
}
