//! Restores a backup as a data folder, and records that in the audit log at the next start.

use std::path::Path;
use std::{fs, io};

use anyhow::{Context as _, ensure};
use orion_domain::audit::AuditHead;
use orion_mtls::secret_file;
use serde::Serialize;

use super::files::{make_private, private, sync_folder};
use super::manifest::{Manifest, RESTORED, measured, read_manifest};
use super::verify::{good, keys};
use crate::clock::now_ms;
use crate::data_folder::DATABASE;
use crate::store::{Store, check_file, newest_version};

/// Restores a backup as a data folder, which must be empty or must not exist.
///
/// # Errors
/// What is wrong with the backup or the folder; then nothing was put in place.
pub async fn restore(from: &Path, data_dir: &Path) -> anyhow::Result<Manifest> {
    let manifest = read_manifest(from)?;
    if data_dir.exists() {
        let is_empty = fs::read_dir(data_dir)?.next().is_none();
        ensure!(is_empty, "{} is not empty; name a new folder", data_dir.display());
    } else {
        make_private(data_dir)?;
    }
    let staged = data_dir.join(".restoring");
    make_private(&staged)?;
    let put = stage(from, &staged, &manifest).await.and_then(|()| {
        // The database comes last: a folder without it is not a backend's.
        let names = manifest.files.iter().map(|file| &file.name);
        let (last, first): (Vec<_>, Vec<_>) = names.partition(|name| *name == DATABASE);
        let text = serde_json::to_vec(&manifest)?;
        secret_file::write(&data_dir.join(RESTORED), &text)?;
        for name in first.into_iter().chain(last) {
            fs::rename(staged.join(name), data_dir.join(name))?;
        }
        sync_folder(data_dir)?;
        Ok(())
    });
    fs::remove_dir_all(&staged).ok();
    put.map(|()| manifest)
}

async fn stage(from: &Path, staged: &Path, manifest: &Manifest) -> anyhow::Result<()> {
    for file in &manifest.files {
        let (source, target) = (from.join(&file.name), staged.join(&file.name));
        fs::copy(&source, &target).with_context(|| format!("{}", source.display()))?;
        private(&target)?;
        ensure!(
            measured(staged, &file.name)? == *file,
            "{} is not what the manifest says; the backup was changed or damaged",
            source.display()
        );
    }
    let held = keys(staged).context("the backup is not whole")?;
    let health = check_file(&staged.join(DATABASE), Some(&held)).await?;
    ensure!(
        health.version <= newest_version(),
        "the backup was made by a newer orion-server ({}); restore it with that one",
        manifest.version
    );
    ensure!(good(&health)? == manifest.head, "the audit ends elsewhere than the manifest says");
    Ok(())
}

/// Records in the audit log that this folder was restored, at the first start after it.
///
/// # Errors
/// The database cannot be written.
pub async fn record_restore(store: &Store, data_dir: &Path) -> anyhow::Result<()> {
    let path = data_dir.join(RESTORED);
    let manifest: Manifest = match fs::read(&path) {
        Ok(text) => serde_json::from_slice(&text).with_context(|| format!("{}", path.display()))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error).with_context(|| format!("{}", path.display())),
    };
    tracing::warn!(
        made_at = manifest.made_at,
        rows = manifest.head.seq,
        "this record was restored from a backup; devices may know of more than it does"
    );
    #[derive(Serialize)]
    struct Restored {
        made_at: i64,
        head: AuditHead,
    }
    let body = Restored { made_at: manifest.made_at, head: manifest.head };
    store.audit_event("server.restored", body, now_ms()).await?;
    fs::remove_file(&path)?;
    Ok(())
}
