//! The manifest of a backup: which files belong to it, with their sizes and digests.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;

use anyhow::{Context as _, ensure};
use orion_domain::Digest;
use orion_domain::audit::AuditHead;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::files::MAX_BYTES;
use crate::data_folder::{ADDRESSES, DATABASE};

/// Left in a restored folder, for the next start of a backend.
pub(super) const RESTORED: &str = "restored.json";

/// The version of the format.
pub(super) const FORMAT: u32 = 1;

/// The file that lists a backup's files.
pub(super) const MANIFEST: &str = "manifest.json";

/// The contents of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    /// The version of the format.
    pub format: u32,
    /// Unix milliseconds.
    pub made_at: i64,
    /// The version of the program that made the backup.
    pub version: String,
    /// The end of the audit log in the backup.
    pub head: AuditHead,
    /// The files of the backup, without the manifest.
    pub files: Vec<ManifestFile>,
}

/// One file of a backup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ManifestFile {
    /// The file's name, without a folder.
    pub name: String,
    /// The size in bytes.
    pub bytes: u64,
    /// SHA-256 of the content.
    pub sha256: Digest,
}

pub(super) fn read_manifest(from: &Path) -> anyhow::Result<Manifest> {
    let path = from.join(MANIFEST);
    let mut text = String::new();
    File::open(&path)
        .and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text))
        .with_context(|| {
            format!(
                "{} is no backup, without {}; name a folder that `orion-server backup` made",
                from.display(),
                path.display()
            )
        })?;
    let manifest: Manifest =
        serde_json::from_str(&text).with_context(|| format!("{}", path.display()))?;
    ensure!(manifest.format == FORMAT, "the backup has a form that this version does not know");
    for ManifestFile { name, .. } in &manifest.files {
        let is_name = Path::new(name).file_name().is_some_and(|own| own == name.as_str());
        ensure!(is_name && (name == DATABASE || belongs(name)), "{name:?} belongs to no backup");
    }
    let has_record = manifest.files.iter().any(|file| file.name == DATABASE);
    ensure!(has_record, "the database is missing from the manifest");
    Ok(manifest)
}

/// Returns whether a file of the data folder is backed up. Files that each start creates, and one-time
/// secrets, are not.
pub(super) fn belongs(name: &str) -> bool {
    let transient = name.starts_with(DATABASE)
        || name == ADDRESSES
        || name == RESTORED
        || name == MANIFEST
        || name.ends_with("lock")
        || name.ends_with("-secret");
    // A file that is being written has another name until it is complete.
    !(transient || name.starts_with('.') || name.ends_with(".new") || name.ends_with(".tmp"))
}

pub(super) fn measured(folder: &Path, name: &str) -> anyhow::Result<ManifestFile> {
    let path = folder.join(name);
    let mut file = File::open(&path).with_context(|| format!("{}", path.display()))?;
    let mut hasher = Sha256::new();
    let mut part = vec![0; 1024 * 1024];
    let mut bytes = 0;
    loop {
        let read = file.read(&mut part)?;
        if read == 0 {
            break;
        }
        hasher.update(part.get(..read).unwrap_or_default());
        bytes += read as u64;
    }
    let sha256 = Digest::from_slice(&hasher.finalize()).context("SHA-256 has 32 bytes")?;
    Ok(ManifestFile { name: name.to_owned(), bytes, sha256 })
}
