//! The key and the last checkpoint, which lie beside the database in the data folder.

use std::path::Path;

use anyhow::Context as _;
use orion_audit::Signer;
use orion_mtls::secret_file;

use crate::data_folder::{AUDIT_HEAD, AUDIT_KEY};
use crate::store::{CheckpointRow, TrustAnchor};

/// Creates a key and writes it.
pub(super) fn draw(data_dir: &Path) -> anyhow::Result<()> {
    Ok(secret_file::write(&data_dir.join(AUDIT_KEY), &Signer::generate()?)?)
}

/// Reads the last checkpoint from the file beside the key.
pub(super) fn head(data_dir: &Path) -> anyhow::Result<Option<CheckpointRow>> {
    let path = data_dir.join(AUDIT_HEAD);
    if !path.exists() {
        return Ok(None);
    }
    let note = String::from_utf8_lossy(secret_file::read(&path)?.expose()).into_owned();
    // The signature is checked when the rows have reached this size. A file that is no note is checked at
    // the first row.
    let size = note.lines().nth(1).and_then(|line| line.parse().ok()).filter(|size| *size > 0);
    Ok(Some(CheckpointRow { size: size.unwrap_or(1), note }))
}

/// Reads the key of the backend with this data folder.
///
/// # Errors
/// The key does not exist or cannot be read.
pub fn load(data_dir: &Path) -> anyhow::Result<Signer> {
    let path = data_dir.join(AUDIT_KEY);
    let bytes = secret_file::read(&path)?;
    Signer::from_pkcs8(bytes.expose())
        .with_context(|| format!("{} holds no key; restore it from a backup", path.display()))
}

/// Returns what the database in this data folder is verified against. None if there is no key. Call it
/// before reading the database.
///
/// # Errors
/// The key or the last checkpoint cannot be read.
pub fn held_to(data_dir: &Path) -> anyhow::Result<Option<TrustAnchor>> {
    if !data_dir.join(AUDIT_KEY).exists() {
        return Ok(None);
    }
    Ok(Some(TrustAnchor { key: load(data_dir)?.key().clone(), head: head(data_dir)? }))
}
