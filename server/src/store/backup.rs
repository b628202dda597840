//! The database as a file: copies it while it is in use, and checks all of it. The folder of a backup is
//! the module `crate::backup`.

use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::{AuditVerdict, BUSY_TIMEOUT, StoreError, TrustAnchor, read_only, verify_file};

/// The limit of findings that are listed.
const MAX_FINDINGS: usize = 20;
/// Runs SQLite's check with the same limit.
const INTEGRITY: &str = "PRAGMA integrity_check(20)";

/// What the check of a database found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What SQLite reports as wrong with its file. Empty if nothing is.
    pub damage: Vec<String>,
    /// Rows that refer to rows that do not exist, as table and target.
    pub dangling: Vec<String>,
    /// Whether the audit log is whole.
    pub audit: AuditVerdict,
    /// The newest schema migration in the database.
    pub version: i64,
}

impl Health {
    /// Returns whether nothing is wrong.
    #[must_use]
    pub const fn is_good(&self) -> bool {
        self.damage.is_empty()
            && self.dangling.is_empty()
            && matches!(self.audit, AuditVerdict::Whole { .. })
    }
}

/// Copies a database as it is at this moment, whether or not a backend has it open, into a new file.
///
/// # Errors
/// The database does not exist, or the copy cannot be written.
pub async fn copy_file(record: &Path, to: &Path) -> Result<(), StoreError> {
    let options = SqliteConnectOptions::new()
        .filename(record)
        .busy_timeout(BUSY_TIMEOUT)
        .pragma("query_only", "OFF");
    let mut connection = options.disable_statement_logging().connect().await?;
    let to = to.to_str().ok_or(StoreError::Unavailable)?.to_owned();
    sqlx::query("VACUUM INTO $1").bind(to).execute(&mut connection).await?;
    connection.close().await?;
    Ok(())
}

/// Checks all of a database, without changing it.
///
/// # Errors
/// The database does not exist or cannot be read at all.
pub async fn check_file(record: &Path, held: Option<&TrustAnchor>) -> Result<Health, StoreError> {
    let mut connection = read_only(record).await?;
    let damage = damage(&mut connection).await?;
    let dangling: Vec<(String, Option<i64>, String, i64)> =
        sqlx::query_as("PRAGMA foreign_key_check").fetch_all(&mut connection).await?;
    let dangling = dangling
        .into_iter()
        .take(MAX_FINDINGS)
        .map(|(table, row, target, _)| match row {
            Some(row) => format!("{table} row {row} points to {target}"),
            None => format!("{table} points to {target}"),
        })
        .collect();
    let (version,): (i64,) =
        sqlx::query_as("SELECT COALESCE(max(version), 0) FROM _sqlx_migrations")
            .fetch_one(&mut connection)
            .await?;
    connection.close().await?;
    let audit = verify_file(record, held).await?;
    Ok(Health { damage, dangling, audit, version })
}

/// Returns the newest schema migration of this program.
#[must_use]
pub fn newest_version() -> i64 {
    super::MIGRATIONS.iter().map(|migration| migration.version).max().unwrap_or_default()
}

async fn damage(connection: &mut SqliteConnection) -> Result<Vec<String>, StoreError> {
    let said: Vec<(String,)> = sqlx::query_as(INTEGRITY).fetch_all(connection).await?;
    Ok(said.into_iter().map(|(line,)| line).filter(|line| line != "ok").collect())
}
