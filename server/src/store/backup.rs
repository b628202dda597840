//! Checks all of a database as a file. The folder of a backup is the module `crate::backup`.

use std::path::Path;

use super::db::Snapshot;
use super::{AuditVerdict, StoreError, TrustAnchor, verify_file};

/// The limit of findings that are listed.
const MAX_FINDINGS: usize = 20;

/// What the check of a database found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
    /// What the database reports as wrong with its file. Empty if nothing is.
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

/// Checks all of a database, without changing it.
///
/// # Errors
/// The database does not exist or cannot be read at all.
pub async fn check_file(record: &Path, held: Option<&TrustAnchor>) -> Result<Health, StoreError> {
    let mut snapshot = Snapshot::open(record).await?;
    let damage = snapshot.damage().await?;
    let dangling = snapshot.dangling().await?.into_iter().take(MAX_FINDINGS);
    let dangling = dangling.map(|(table, row, target)| match row {
        Some(row) => format!("{table} row {row} points to {target}"),
        None => format!("{table} points to {target}"),
    });
    let dangling = dangling.collect();
    let version = snapshot.version().await?;
    snapshot.close().await?;
    let audit = verify_file(record, held).await?;
    Ok(Health { damage, dangling, audit, version })
}
