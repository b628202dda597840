//! Verifies a database with the keys beside it.

use std::path::Path;

use anyhow::{Context as _, bail};
use orion_domain::audit::AuditHead;

use crate::data_folder::DATABASE;
use crate::fleet::authority;
use crate::notary::held_to;
use crate::store::{AuditVerdict, Health, TrustAnchor, check_file};

/// Returns what the database is verified against. The authorities and the audit key must be complete: a
/// backend cannot start without them.
pub(super) fn keys(folder: &Path) -> anyhow::Result<TrustAnchor> {
    authority::read(folder)?;
    held_to(folder)?.context("audit.key is missing; start the backend once before")
}

/// Returns the end of the audit log of a database without damage.
pub(super) fn good(health: &Health) -> anyhow::Result<AuditHead> {
    match &health.audit {
        AuditVerdict::Whole { head, .. } if health.is_good() => Ok(*head),
        AuditVerdict::Whole { .. } => {
            let found = [&health.damage[..], &health.dangling[..]].concat();
            bail!("the database is damaged: {}", found.join("; "))
        }
        AuditVerdict::Broken { broken, .. } => bail!("the audit is broken: {broken}"),
    }
}

/// Checks the whole database of a data folder.
///
/// # Errors
/// The database cannot be read at all.
pub async fn check(data_dir: &Path) -> anyhow::Result<Health> {
    let held = held_to(data_dir)?;
    check_file(&data_dir.join(DATABASE), held.as_ref()).await.context("the database cannot be read")
}
