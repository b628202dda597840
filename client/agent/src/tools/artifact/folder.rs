//! Where artifacts are: a folder each below the agent's own, and beside it the record of a whole installation.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, TryLockError};

use cap_std::ambient_authority;
use cap_std::fs::Dir;
use orion_catalog::artifact::ArtifactName;
use orion_domain::{Digest, ErrorCode, ToolError};
use serde::{Deserialize, Serialize};

use super::disk;
use super::manifest::{self, Manifest, Written};
use crate::call::Context;
use crate::state::names::{ARTIFACTS, DOWNLOAD};

/// The largest record, in bytes.
const MAX_RECORD_BYTES: u64 = 256 * 1024;

/// The place of one artifact.
#[derive(Debug)]
pub(in crate::tools) struct Place {
    name: ArtifactName,
    all: PathBuf,
}

/// The record of an installed artifact. It is outside of the folder that the install script may change.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    sha256: Digest,
    manifest: Written,
}

/// Takes the turn to install: one artifact is installed at a time.
///
/// # Errors
/// `RESOURCE_EXHAUSTED`.
pub(in crate::tools) fn turn() -> Result<MutexGuard<'static, ()>, ToolError> {
    static TURN: Mutex<()> = Mutex::new(());
    match TURN.try_lock() {
        Ok(turn) => Ok(turn),
        Err(TryLockError::Poisoned(turn)) => Ok(turn.into_inner()),
        Err(TryLockError::WouldBlock) => {
            let message = "Another artifact is being installed on this device.";
            Err(ToolError::new(ErrorCode::ResourceExhausted, message).hint("try again later"))
        }
    }
}

impl Place {
    /// Returns the place of an artifact.
    pub(in crate::tools) fn of(name: &ArtifactName, context: &Context<'_>) -> Self {
        Self { name: name.clone(), all: context.installation.state_dir.join(ARTIFACTS) }
    }

    /// Returns the folder with the files of the artifact.
    pub(in crate::tools) fn folder(&self) -> PathBuf {
        self.all.join(self.name.as_str())
    }

    fn record_file(&self) -> PathBuf {
        self.all.join(format!("{}.json", self.name))
    }

    /// Returns the manifest of the installed artifact. `None` where it is not installed as a whole.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub(in crate::tools) fn installed(&self) -> Result<Option<Manifest>, ToolError> {
        let unread = |error| disk("The record of the artifact cannot be read", &error);
        let text = match read(&self.record_file(), MAX_RECORD_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            read => read.map_err(unread)?,
        };
        let record: Record = serde_json::from_slice(&text)
            .map_err(|_| unread(io::Error::from(io::ErrorKind::InvalidData)))?;
        Manifest::of(record.manifest, &self.name).map(Some)
    }

    /// Returns whether an installation was interrupted: there are files and no record.
    ///
    /// # Errors
    /// As [`Self::installed`].
    pub(in crate::tools) fn is_interrupted(&self) -> Result<bool, ToolError> {
        Ok(self.folder().exists() && self.installed()?.is_none())
    }

    /// Makes the folder of the artifact, which must not be there.
    ///
    /// # Errors
    /// The agent's own disk does not take it.
    pub(in crate::tools) fn create(&self) -> Result<Dir, ToolError> {
        let failed = |error| disk("The folder of the artifact cannot be made", &error);
        fs::DirBuilder::new().mode(0o755).create(self.folder()).map_err(failed)?;
        Dir::open_ambient_dir(self.folder(), ambient_authority()).map_err(failed)
    }

    /// Returns an empty file for the archive, which is gone with its handle.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub(in crate::tools) fn download(&self) -> Result<File, ToolError> {
        let path = self.all.join(DOWNLOAD);
        let create = || {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.all)?;
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                Ok(()) | Err(_) => {}
            }
            let mut options = OpenOptions::new();
            let file = options.read(true).write(true).create_new(true).mode(0o600).open(&path)?;
            fs::remove_file(&path)?;
            Ok(file)
        };
        create().map_err(|error| disk("The archive cannot be written", &error))
    }

    /// Reads the manifest in the folder.
    ///
    /// # Errors
    /// A file that is missing or too large.
    pub(in crate::tools) fn manifest(&self) -> Result<Vec<u8>, ToolError> {
        read(&self.folder().join(manifest::FILE), manifest::MAX_BYTES)
            .map_err(|error| super::unfit(format!("{}: {}.", manifest::FILE, error.kind())))
    }

    /// Records that the artifact is installed.
    ///
    /// # Errors
    /// As [`Self::create`].
    pub(in crate::tools) fn record(
        &self,
        manifest: &Manifest,
        sha256: Digest,
    ) -> Result<(), ToolError> {
        let record = Record { sha256, manifest: manifest.written.clone() };
        let (file, new) = (self.record_file(), self.all.join(".record"));
        let write = || {
            let text = serde_json::to_vec_pretty(&record)?;
            let mut open = File::create(&new)?;
            open.write_all(&text)?;
            open.sync_all()?;
            fs::rename(&new, &file)?;
            File::open(&self.all)?.sync_all()
        };
        write().map_err(|error| disk("The artifact cannot be recorded", &error))
    }

    /// Removes the files of the artifact.
    ///
    /// # Errors
    /// Files that cannot be removed, such as those that a container wrote as another account.
    pub(in crate::tools) fn remove(&self) -> Result<(), ToolError> {
        // Without it, the artifact does not count as installed, whatever of it is left.
        match fs::remove_file(self.record_file()) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(disk("The record of the artifact cannot be removed", &error));
            }
            Ok(()) | Err(_) => {}
        }
        fs::remove_dir_all(self.folder())
            .map_err(|error| disk("The folder of the artifact cannot be removed", &error))
    }
}

/// Reads a regular file of so many bytes at most.
fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    if !fs::symlink_metadata(path)?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::ErrorKind::FileTooLarge.into());
    }
    Ok(bytes)
}
