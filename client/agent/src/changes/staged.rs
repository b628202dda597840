//! Staged files and folders: written beside the target under the call's temporary name until they are
//! complete. Others do not use that name.

use std::io::{self, Seek, SeekFrom, Write};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, DirBuilder, File, Metadata, OpenOptions};
use orion_domain::{Digest, ToolError};
use sha2::{Digest as _, Sha256};

use super::{Change, FileStamp, StepError, Target, rights};
use crate::entry::{MAX_HASHED_BYTES, finish};
use crate::record::{Source, Step};
use crate::roots::staged_name;

/// Bytes written between two syncs of a file.
const SYNC_EVERY: u64 = 32 * 1024 * 1024;

/// A file that is being written.
#[derive(Debug)]
#[must_use]
pub(crate) struct Staged {
    file: File,
    hasher: Sha256,
    bytes: u64,
    /// Bytes written since the last sync.
    unsynced: u64,
}

/// A folder that is being filled.
#[derive(Debug)]
#[must_use]
pub(crate) struct StagedFolder {
    /// The open folder.
    pub(crate) dir: Dir,
}

impl Write for Staged {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let written = self.file.write(buffer)?;
        self.bytes += written as u64;
        self.unsynced += written as u64;
        if self.unsynced >= SYNC_EVERY {
            // One sync at the end of a large file would block and could not be cancelled.
            self.file.sync_data()?;
            self.unsynced = 0;
        }
        if self.bytes <= MAX_HASHED_BYTES {
            self.hasher.update(buffer.get(..written).unwrap_or_default());
        }
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Staged {
    /// Returns the number of bytes written.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Leaves a hole of so many bytes, which reads as zeros.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(crate) fn leave_hole(&mut self, bytes: u64) -> io::Result<()> {
        const ZEROS: [u8; 4096] = [0; 4096];
        self.bytes = self.bytes.saturating_add(bytes);
        self.file.set_len(self.bytes)?;
        self.file.seek(SeekFrom::Start(self.bytes))?;
        let mut left = if self.bytes <= MAX_HASHED_BYTES { bytes } else { 0 };
        while left > 0 {
            let step = left.min(ZEROS.len() as u64);
            self.hasher.update(ZEROS.get(..usize::try_from(step).unwrap_or(0)).unwrap_or_default());
            left -= step;
        }
        Ok(())
    }

    /// Returns the SHA-256 of the content. `None` if the content is too large to hash.
    pub(crate) fn digest(&self) -> Option<Digest> {
        (self.bytes <= MAX_HASHED_BYTES).then(|| finish(self.hasher.clone()))
    }

    /// Copies the mode of another file, as a copy does.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(crate) fn like(&self, metadata: &Metadata) -> io::Result<()> {
        rights::take_over_mode(&self.file, metadata)
    }

    /// Syncs the file to the disk and returns its stamp.
    pub(super) fn seal(self) -> io::Result<FileStamp> {
        self.file.sync_all()?;
        let mut stamp = FileStamp::of_file(&self.file)?;
        stamp.digest = self.digest();
        Ok(stamp)
    }
}

impl Change<'_> {
    /// Begins a file that will get the target's name. With `old`, the open file that it replaces, the new
    /// file gets the owner, mode, access lists and attributes of `old`, which is closed: Windows replaces no
    /// open file.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(crate) fn stage(
        &mut self,
        target: &Target,
        old: Option<File>,
    ) -> Result<Staged, ToolError> {
        let failed = |error: &io::Error| StepError::io(error, target);
        let old = old.map(|old| old.metadata().map(|metadata| (old, metadata))).transpose();
        let old = old.map_err(|error| failed(&error))?;
        // The mode that is copied is the one checked here.
        if let Some((_, metadata)) = &old {
            self.context.risk.raise_if_executable(metadata, &target.path)?;
        }
        let name = self.plan_placed(target, Source::Staged)?;
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        #[cfg(unix)]
        {
            use cap_fs_ext::OpenOptionsExt;
            options.mode(if old.is_some() { 0o600 } else { 0o666 });
        }
        let open = || -> io::Result<File> {
            let file = target.dir.open_with(&name, &options)?;
            if let Some((old, metadata)) = &old {
                rights::take_over(&file, old, metadata)?;
            }
            Ok(file)
        };
        let file = open().map_err(|error| failed(&error))?;
        Ok(Staged { file, hasher: Sha256::new(), bytes: 0, unsynced: 0 })
    }

    /// Begins a folder that will get the target's name.
    ///
    /// # Errors
    /// Errors of the file system.
    pub(crate) fn stage_folder(&mut self, target: &Target) -> Result<StagedFolder, ToolError> {
        let name = self.plan_placed(target, Source::Staged)?;
        let dir = target
            .dir
            .create_dir_with(&name, &DirBuilder::new())
            .and_then(|()| target.dir.open_dir_nofollow(&name))
            .map_err(|error| StepError::io(&error, target))?;
        Ok(StagedFolder { dir })
    }

    pub(super) fn plan_placed(
        &mut self,
        target: &Target,
        source: Source,
    ) -> Result<String, StepError> {
        self.plan(target, Step::Placed { at: target.spot(), source })?;
        Ok(staged_name(self.call()))
    }
}
