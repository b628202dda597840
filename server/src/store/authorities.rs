//! The authorities that sign devices' certificates: when each became trusted and retired, and which devices
//! still hold certificates of one. The authorities' keys are not stored here.

use std::path::Path;

use orion_domain::DeviceId;
use serde::Serialize;

use super::db::{AuditEvent, DecodeError, Durability, FromRow, Row, Snapshot, sql, values};
use super::{Store, StoreError};

/// A device that would be cut off if an authority were retired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CertificateHolder {
    /// The device's name.
    pub name: String,
    /// When the last of its certificates expires, Unix milliseconds. None if the device waits for an admin,
    /// with a token that pins only the older authority.
    pub not_after: Option<i64>,
}

impl FromRow for CertificateHolder {
    fn from_row(row: &Row) -> Result<Self, DecodeError> {
        Ok(Self { name: row.get("name")?, not_after: row.get("not_after")? })
    }
}

/// An authority as a backend loaded it. Times are Unix milliseconds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorityRow {
    /// The fingerprint of its certificate, hexadecimal.
    pub fingerprint: String,
    /// Since when it is trusted.
    pub trusted_at: i64,
    /// Since when it is retired. None while it is trusted.
    pub retired_at: Option<i64>,
    /// The devices that trust it, as they last reported, or else by the certificates that they hold.
    pub trusted_by: Vec<String>,
}

/// The authorities that a backend loaded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportedAuthorities {
    /// The rows, newest first.
    pub authorities: Vec<AuthorityRow>,
    /// The longest lifetime of a device's certificate, in milliseconds. Zero if there are no certificates.
    pub lifetime: i64,
}

#[derive(Serialize)]
struct Changed<'a> {
    fingerprint: &'a str,
    /// Whether the authority signs devices' certificates. None if it is retired.
    #[serde(skip_serializing_if = "Option::is_none")]
    signs: Option<bool>,
}

impl Store {
    /// Stores which authorities are trusted, by the fingerprints of their certificates, hexadecimal. The
    /// first one signs. Changes are audited as `authority.trusted` and `authority.retired`.
    ///
    /// # Errors
    /// The database cannot be written.
    pub async fn record_authorities(
        &self,
        fingerprints: Vec<String>,
        now: i64,
    ) -> Result<(), StoreError> {
        self.write(Durability::Fsync, move |tx| {
            Box::pin(async move {
                // Certificates that are older than this column belong to the oldest authority.
                tx.execute(
                    sql("UPDATE certificates SET authority = $1 WHERE authority = ''")
                        .bind(fingerprints.last()),
                )
                .await?;
                for (at, fingerprint) in fingerprints.iter().enumerate() {
                    let done = tx
                        .execute(
                            sql(
                                "INSERT INTO authorities (fingerprint, trusted_at) VALUES ($1, $2) \
                         ON CONFLICT (fingerprint) DO UPDATE SET retired_at = NULL, \
                         trusted_at = excluded.trusted_at WHERE retired_at IS NOT NULL",
                            )
                            .bind(fingerprint)
                            .bind(now),
                        )
                        .await?;
                    if done > 0 {
                        let body = Changed { fingerprint, signs: Some(at == 0) };
                        tx.record(AuditEvent::new(now, "authority.trusted", String::new(), &body)?);
                    }
                }
                let standing: Vec<(String,)> = tx
                    .query(sql("SELECT fingerprint FROM authorities WHERE retired_at IS NULL \
                     ORDER BY fingerprint"))
                    .await?;
                for (gone,) in standing.iter().filter(|(one,)| !fingerprints.contains(one)) {
                    tx.execute(
                        sql("UPDATE authorities SET retired_at = $1 WHERE fingerprint = $2")
                            .bind(now)
                            .bind(gone),
                    )
                    .await?;
                    let body = Changed { fingerprint: gone, signs: None };
                    tx.record(AuditEvent::new(now, "authority.retired", String::new(), &body)?);
                }
                Ok(())
            })
        })
        .await
    }
}

impl Store {
    /// Returns whether any authority was ever trusted, or a device enrolled.
    ///
    /// # Errors
    /// The database cannot be read.
    pub async fn knows_authorities(&self) -> Result<bool, StoreError> {
        let (known,): (bool,) = self
            .db()
            .query_one(
                sql("SELECT EXISTS (SELECT 1 FROM authorities) OR \
                 EXISTS (SELECT 1 FROM devices WHERE id <> $1)")
                .bind(DeviceId::BACKEND),
            )
            .await?;
        Ok(known)
    }
}

/// Returns the devices that would be cut off if this authority were retired at `now`, by name. Those are
/// devices with an unexpired certificate of it that have not connected with one of another authority yet,
/// and devices that wait for an admin with a token older than the signing authority. The database may be in
/// use.
///
/// # Errors
/// The database cannot be read.
pub async fn holders_of(
    path: &Path,
    authority: &str,
    signer: &str,
    now: i64,
) -> Result<Vec<CertificateHolder>, StoreError> {
    let mut snapshot = Snapshot::open(path).await?;
    let holders = snapshot
        .query(
            sql("SELECT devices.name AS name, MAX(held.not_after) AS not_after \
         FROM certificates AS held JOIN devices ON devices.id = held.device_id \
         WHERE held.authority IN ($1, '') AND held.not_after > $2 \
         AND devices.state NOT IN ('rejected', 'revoked') AND NOT EXISTS ( \
             SELECT 1 FROM certificates AS other WHERE other.device_id = held.device_id \
             AND other.authority NOT IN ($1, '') AND other.shown_at IS NOT NULL \
             AND other.not_after > $2) \
         GROUP BY devices.id \
         UNION ALL SELECT devices.name, NULL FROM devices \
         JOIN invites ON invites.id = devices.invite_id \
         LEFT JOIN authorities AS newer ON newer.fingerprint = $3 AND newer.retired_at IS NULL \
         WHERE devices.state = 'pending' \
         AND (newer.trusted_at IS NULL OR invites.created_at < newer.trusted_at) \
         ORDER BY 1")
            .with(values![authority, now, signer]),
        )
        .await;
    snapshot.close().await?;
    holders
}

/// Returns the authorities that a backend loaded, and which devices trust them. The database may be in use.
///
/// # Errors
/// The database cannot be read.
pub async fn taken_in(path: &Path) -> Result<ImportedAuthorities, StoreError> {
    let mut snapshot = Snapshot::open(path).await?;
    let read = read(&mut snapshot).await;
    snapshot.close().await?;
    read
}

async fn read(snapshot: &mut Snapshot) -> Result<ImportedAuthorities, StoreError> {
    let (lifetime,): (i64,) = snapshot
        .query_one(sql("SELECT COALESCE(MAX(not_after - issued_at), 0) FROM certificates"))
        .await?;
    let rows: Vec<(String, i64, Option<i64>)> = snapshot
        .query(sql("SELECT fingerprint, trusted_at, retired_at FROM authorities \
         ORDER BY trusted_at DESC, fingerprint"))
        .await?;
    let mut authorities = Vec::new();
    for (fingerprint, trusted_at, retired_at) in rows {
        // A device that does not report what it trusts received the list with its newest certificate.
        let trusted_by: Vec<(String,)> = snapshot
            .query(
                sql("SELECT name FROM devices WHERE state NOT IN ('rejected', 'revoked') AND \
                     CASE WHEN trusts IS NULL THEN (SELECT MAX(issued_at) FROM certificates \
                     WHERE device_id = devices.id) BETWEEN $2 AND $3 \
                     ELSE trusts LIKE '%' || $1 || '%' END ORDER BY name")
                .with(values![&fingerprint, trusted_at, retired_at.unwrap_or(i64::MAX)]),
            )
            .await?;
        let trusted_by = trusted_by.into_iter().map(|(name,)| name).collect();
        authorities.push(AuthorityRow { fingerprint, trusted_at, retired_at, trusted_by });
    }
    Ok(ImportedAuthorities { authorities, lifetime })
}
