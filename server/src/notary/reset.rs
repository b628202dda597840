//! Resets signing after the signed database is lost: the earlier checkpoints become invalid, and the audit
//! log records the reset. It does not repair a broken chain.

use std::fs;
use std::path::Path;

use anyhow::{Context as _, bail, ensure};

use super::{draw, head, held_to};
use crate::clock::now_ms;
use crate::data_folder::{AUDIT_HEAD, AUDIT_KEY, DATABASE, lock};
use crate::store::{AuditVerdict, Store, TrustAnchor};

/// The maximum length of a reason, in characters.
const MAX_REASON_CHARS: usize = 500;

/// Lets the database in this folder be signed from the next start on, whatever was signed before. No
/// backend may run on the folder. Returns the text to print.
///
/// # Errors
/// The reset is not needed, does not help, or cannot be done.
pub async fn reset_signing(data_dir: &Path, reason: &str) -> anyhow::Result<String> {
    let reason: String = reason.trim().chars().take(MAX_REASON_CHARS).collect();
    ensure!(!reason.is_empty(), "give the reason with --reason; it is recorded in the audit log");
    let database = data_dir.join(DATABASE);
    ensure!(
        database.exists(),
        "no backend keeps its data in {}; name the right folder with --data-dir",
        data_dir.display()
    );
    let _lock = lock(data_dir)?;
    let held = held_to(data_dir)?;
    let last = head(data_dir)?.map(|head| head.note);
    let store = Store::open(&database).await.context("the database cannot be opened")?;
    let done = write(&store, held, last, &reason).await;
    store.close().await;
    done?;
    match fs::remove_file(data_dir.join(AUDIT_HEAD)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).context("audit.head cannot be removed; say the same again");
        }
        Ok(()) | Err(_) => {}
    }
    let mut text = "the audit says so, and is signed as it is from the next start on\n".to_owned();
    if !data_dir.join(AUDIT_KEY).exists() {
        draw(data_dir)?;
        text.push_str(
            "another key signs it: `orion-server audit key` prints the one that verifies\n",
        );
    }
    Ok(text)
}

async fn write(
    store: &Store,
    held: Option<TrustAnchor>,
    last: Option<String>,
    reason: &str,
) -> anyhow::Result<()> {
    if let AuditVerdict::Broken { broken, .. } = store.verify_audit(None).await? {
        bail!(
            "the audit's own chain is broken, which no signature mends: {broken}; restore a backup"
        );
    }
    let mut keeps = false;
    if let Some(held) = held {
        let is_whole = async |held: &TrustAnchor| {
            let verdict = store.verify_audit(Some(held)).await?;
            anyhow::Ok(matches!(verdict, AuditVerdict::Whole { .. }))
        };
        ensure!(
            !is_whole(&held).await?,
            "the database is what was signed last; there is nothing to do"
        );
        keeps = is_whole(&TrustAnchor { head: None, ..held }).await?;
    } else {
        let is_signed = last.is_some() || !store.checkpoints(0, 1).await?.is_empty();
        ensure!(is_signed, "nothing was signed yet; the backend draws a key when it starts");
    }
    Ok(store.reset_signing(reason, last, keeps, now_ms()).await?)
}
