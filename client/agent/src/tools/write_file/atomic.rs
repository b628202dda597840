//! Bringing content to the disk.

use std::io::{self, Read, Write};

use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, File, OpenOptions};
use orion_domain::{DevicePath, ErrorCode, ToolError};

use super::{Job, MAX_COPIED_BYTES, Old};
use crate::roots::{Wanted, io_failure};
use crate::tools::Context;

/// Writes a new file beside the old one and gives it the old one's name, mode and, where the
/// operating system lets it, owner. Gives the new size in bytes.
pub(super) fn replace(dir: &Dir, job: Job<'_>, context: &Context<'_>) -> Result<u64, ToolError> {
    let failed = |error: &io::Error| io_failure(error, Wanted::File, job.path);
    let (mut temporary, mut file) =
        Temporary::create(dir, job.old.is_some()).map_err(|error| failed(&error))?;
    let mut size = job.arguments.content.len() as u64;
    if let Some(old) = job.old.as_ref().filter(|_| job.arguments.append) {
        let copied = io::copy(&mut (&old.file).take(MAX_COPIED_BYTES + 1), &mut file)
            .map_err(|error| failed(&error))?;
        if copied > MAX_COPIED_BYTES {
            return Err(ToolError::new(
                ErrorCode::PreconditionFailed,
                format!("{} grew while it was being added to; try again.", job.path),
            ));
        }
        size += copied;
    }
    file.write_all(job.arguments.content.as_bytes()).map_err(|error| failed(&error))?;
    if let Some(old) = &job.old {
        keep_owner_and_mode(&file, old).map_err(|error| failed(&error))?;
    }
    file.sync_all().map_err(|error| failed(&error))?;
    drop(file);
    context.check()?;
    temporary.become_file(job.name).map_err(|error| failed(&error))?;
    Ok(size)
}

/// Adds to the end of a file that is too large to be written anew. Gives the new size in bytes.
pub(super) fn append(mut file: File, content: &str, path: &DevicePath) -> Result<u64, ToolError> {
    file.write_all(content.as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| file.metadata())
        .map(|metadata| metadata.len())
        .map_err(|error| io_failure(&error, Wanted::File, path))
}

/// A file under a name of its own, which goes away unless it becomes the file that is meant.
struct Temporary<'a> {
    dir: &'a Dir,
    name: String,
    kept: bool,
}

impl<'a> Temporary<'a> {
    /// `closed` keeps others out until the old file's mode is set.
    fn create(dir: &'a Dir, closed: bool) -> io::Result<(Self, File)> {
        let name = format!(".orion-{:016x}.tmp", rand::random::<u64>());
        let mut options = OpenOptions::new();
        options.write(true).create_new(true).follow(FollowSymlinks::No);
        #[cfg(unix)]
        {
            use cap_fs_ext::OpenOptionsExt;
            options.mode(if closed { 0o600 } else { 0o666 });
        }
        #[cfg(not(unix))]
        let _ = closed;
        let file = dir.open_with(&name, &options)?;
        Ok((Self { dir, name, kept: false }, file))
    }

    fn become_file(&mut self, name: &str) -> io::Result<()> {
        self.dir.rename(&self.name, self.dir, name)?;
        self.kept = true;
        // The file is there whatever this says; without it a power cut could bring the old one back.
        #[cfg(unix)]
        if let Err(error) = self.dir.open(".").and_then(|dir| dir.sync_all()) {
            tracing::debug!(kind = %error.kind(), "a folder could not be brought to the disk");
        }
        Ok(())
    }
}

impl Drop for Temporary<'_> {
    fn drop(&mut self) {
        if !self.kept
            && let Err(error) = self.dir.remove_file(&self.name)
        {
            tracing::warn!(name = self.name, kind = %error.kind(), "a temporary file could not be removed");
        }
    }
}

#[cfg(unix)]
fn keep_owner_and_mode(file: &File, old: &Old) -> io::Result<()> {
    use cap_fs_ext::OsMetadataExt;
    use rustix::fs::{Gid, Mode, Uid, fchmod, fchown};

    let new = file.metadata()?;
    let (uid, gid) = (old.metadata.uid(), old.metadata.gid());
    let mut mode = old.metadata.mode() & 0o777;
    if (new.uid(), new.gid()) != (uid, gid)
        && fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid))).is_err()
        && (new.gid() == gid || fchown(file, None, Some(Gid::from_raw(gid))).is_err())
        && new.gid() != gid
    {
        // What the old group might do, the new one was never given.
        mode &= 0o707;
    }
    fchmod(file, Mode::from_raw_mode(mode)).map_err(io::Error::from)
}

#[cfg(not(unix))]
fn keep_owner_and_mode(file: &File, old: &Old) -> io::Result<()> {
    file.set_permissions(old.metadata.permissions())
}
