//! Copies the content of files and folders, from handle to handle.

use std::io::{self, Read, Seek, SeekFrom, Write};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt};
use cap_std::fs::{Dir, DirBuilder, File, OpenOptions};
use orion_domain::{DevicePath, ErrorCode, ToolError};

use crate::changes::Staged;
#[cfg(unix)]
use crate::changes::permissions;
use crate::roots::{FileKind, Located, Wanted, io_failure};
#[cfg(not(unix))]
use crate::survey::name;
#[cfg(unix)]
use crate::survey::target;
use crate::survey::{CopyMethod, Count, Destination, judge};
use crate::tools::{FileContext, regular};
use crate::walk::{Mode, Next, Visit, walk};

/// Bytes copied between two checks of the deadline.
const STEP_BYTES: u64 = 8 * 1024 * 1024;

/// Refuses a copy if the free disk space is clearly too small.
pub(in crate::tools) fn refuse_without_room(
    dir: &Dir,
    bytes: u64,
    path: &DevicePath,
) -> Result<(), ToolError> {
    match free(dir) {
        Some(free) if free < bytes => Err(ToolError::new(
            ErrorCode::ResourceExhausted,
            format!("{path}: the copy takes {bytes} bytes and {free} are free there."),
        )
        .hint("free some space first")
        .with("attempted_path", path.to_string())
        .with("free_bytes", free)),
        _ => Ok(()),
    }
}

#[cfg(unix)]
fn free(dir: &Dir) -> Option<u64> {
    let known = rustix::fs::fstatvfs(dir).ok()?;
    Some(known.f_bavail.saturating_mul(known.f_frsize))
}

#[cfg(not(unix))]
fn free(_: &Dir) -> Option<u64> {
    None
}

/// A file that may have holes.
pub(in crate::tools) trait Holes {
    /// Returns start and end of the next content at or after `from`. Without support for holes, everything is
    /// content.
    fn content(&mut self, from: u64, end: u64) -> (u64, u64);
}

/// A writer that can leave holes.
pub(in crate::tools) trait Skip {
    /// Leaves a hole of so many bytes.
    fn skip(&mut self, bytes: u64) -> io::Result<()>;
}

impl Skip for Staged {
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        self.leave_hole(bytes)
    }
}

impl Skip for std::fs::File {
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        let end = self.stream_position()?.saturating_add(bytes);
        self.set_len(end)?;
        self.seek(SeekFrom::Start(end)).map(drop)
    }
}

impl Holes for File {
    fn content(&mut self, from: u64, end: u64) -> (u64, u64) {
        content_of(self, from, end)
    }
}

impl Holes for std::fs::File {
    fn content(&mut self, from: u64, end: u64) -> (u64, u64) {
        content_of(self, from, end)
    }
}

#[cfg(target_os = "linux")]
fn content_of(file: &mut (impl std::os::fd::AsFd + Seek), from: u64, end: u64) -> (u64, u64) {
    use rustix::fs::{SeekFrom as To, seek};
    use rustix::io::Errno;
    let start = match seek(&*file, To::Data(from)) {
        Ok(start) => start.min(end),
        Err(Errno::NXIO) => end,
        Err(_) => from,
    };
    let stop = seek(&*file, To::Hole(start)).map_or(end, |stop| stop.min(end));
    // The queries moved the read position.
    match file.seek(SeekFrom::Start(from)) {
        Ok(_) if stop > start || start == end => (start, stop.max(start)),
        Ok(_) | Err(_) => (from, end),
    }
}

#[cfg(not(target_os = "linux"))]
fn content_of<F>(_: &mut F, from: u64, end: u64) -> (u64, u64) {
    (from, end)
}

/// Progress of a copy, reported while it runs.
pub(in crate::tools) struct Progress<'a, 'c> {
    context: &'a FileContext<'c>,
    total: u64,
    done: u64,
}

impl<'a, 'c> Progress<'a, 'c> {
    pub(in crate::tools) fn new(context: &'a FileContext<'c>, total: u64) -> Self {
        Self { context, total, done: 0 }
    }

    /// Copies up to `bytes` of a file, so that a growing file ends as well.
    pub(in crate::tools) fn copy(
        &mut self,
        from: &mut (impl Read + Seek + Holes),
        to: &mut (impl Write + Skip),
        bytes: u64,
        path: &DevicePath,
    ) -> Result<(), ToolError> {
        let failed = |error: &io::Error| io_failure(error, Wanted::File, path);
        let mut at = 0;
        while at < bytes {
            self.context.check()?;
            let (start, end) = from.content(at, bytes);
            if start > at {
                // A hole stays a hole: filled, it could exceed the disk.
                to.skip(start - at).map_err(|error| failed(&error))?;
                from.seek(SeekFrom::Start(start)).map_err(|error| failed(&error))?;
                self.done += start - at;
                at = start;
                continue;
            }
            let copied = io::copy(&mut from.take((end - at).min(STEP_BYTES)), to)
                .map_err(|error| failed(&error))?;
            if copied == 0 {
                break;
            }
            at += copied;
            self.done += copied;
            (self.context.progress)(self.done, Some(self.total), "bytes copied");
        }
        Ok(())
    }
}

/// A folder that is being filled, and the folder whose mode it will get.
struct Filled {
    dir: Dir,
    like: Dir,
}

/// Copies the contents of a located folder into an empty one. Evaluates every entry again.
pub(in crate::tools) fn copy_folder(
    start: &Located,
    into: &Dir,
    landing: &Destination<'_>,
    count: Count,
    context: &FileContext<'_>,
) -> Result<(), ToolError> {
    let failed = |error: &io::Error| io_failure(error, Wanted::Path, landing.asked);
    let mut progress = Progress::new(context, count.bytes);
    // No other account may look into the folder until it is complete.
    #[cfg(unix)]
    allow(into, rustix::fs::Mode::RWXU).map_err(|error| failed(&error))?;
    let top = Filled {
        dir: into.try_clone().map_err(|error| failed(&error))?,
        like: start.dir.try_clone().map_err(|error| failed(&error))?,
    };
    let mut open = vec![top];
    walk(start, Mode::Whole, context, &mut |visit| {
        judge(visit, landing, CopyMethod::Copied, context)?;
        while open.len() > visit.below.len() {
            close(&mut open).map_err(|error| failed(&error))?;
        }
        let Some((Filled { dir: into, .. }, last)) = open.last().zip(visit.below.last()) else {
            return Ok(Next::Stop);
        };
        match visit.what {
            FileKind::File => file(visit, into, last, &mut progress, landing.asked)?,
            FileKind::Link => link(visit, into, last).map_err(|error| failed(&error))??,
            FileKind::Folder => {
                let filled = folder(visit, into, last).map_err(|error| failed(&error))?;
                open.push(filled);
            }
            // `judge` refused these above.
            FileKind::Special => {}
        }
        Ok(Next::On)
    })?;
    while !open.is_empty() {
        close(&mut open).map_err(|error| failed(&error))?;
    }
    Ok(())
}

fn file(
    visit: &Visit<'_>,
    into: &Dir,
    last: &str,
    progress: &mut Progress<'_, '_>,
    landing: &DevicePath,
) -> Result<(), ToolError> {
    let path = visit.path().unwrap_or_else(|| landing.clone());
    let failed = |error: &io::Error| io_failure(error, Wanted::File, &path);
    let mut reading = OpenOptions::new();
    let (from, metadata) = regular::open(visit.dir, last, &path, reading.read(true))?;
    progress.context.risk.raise_if_executable(&metadata, &path)?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).follow(FollowSymlinks::No);
    #[cfg(unix)]
    {
        use cap_fs_ext::OpenOptionsExt;
        options.mode(0o600);
    }
    let to = into.open_with(last, &options).map_err(|error| failed(&error))?;
    // Files of the standard library are copied inside the kernel, or share their blocks.
    let (mut from, mut to) = (from.into_std(), to.into_std());
    progress.copy(&mut from, &mut to, metadata.len(), &path)?;
    let to = File::from_std(to);
    like(&to, &metadata).map_err(|error| failed(&error))
}

fn folder(visit: &Visit<'_>, into: &Dir, last: &str) -> io::Result<Filled> {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has a mode to set"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    {
        use cap_std::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    into.create_dir_with(last, &builder)?;
    Ok(Filled { dir: into.open_dir_nofollow(last)?, like: visit.dir.open_dir_nofollow(last)? })
}

#[cfg(unix)]
fn link(visit: &Visit<'_>, into: &Dir, last: &str) -> io::Result<Result<(), ToolError>> {
    match target(visit) {
        Ok(target) => into.symlink(target, last).map(Ok),
        Err(error) => Ok(Err(error)),
    }
}

#[cfg(not(unix))]
fn link(visit: &Visit<'_>, _: &Dir, _: &str) -> io::Result<Result<(), ToolError>> {
    Ok(Err(ToolError::new(
        ErrorCode::NotSupported,
        format!("{} is a link, and links are not copied on this device.", name(visit)),
    )))
}

/// Sets the final mode of a filled folder. A read-only folder could not have been filled.
fn close(open: &mut Vec<Filled>) -> io::Result<()> {
    let Some(Filled { dir, like }) = open.pop() else { return Ok(()) };
    let metadata = like.dir_metadata()?;
    #[cfg(unix)]
    allow(&dir, mode(&metadata))?;
    #[cfg(not(unix))]
    drop((dir, metadata));
    Ok(())
}

/// Sets the mode of a folder. Its handle is opened by path only, so `fchmod` does not work on it.
#[cfg(unix)]
fn allow(dir: &Dir, mode: rustix::fs::Mode) -> io::Result<()> {
    use rustix::fs::{AtFlags, chmodat};
    Ok(chmodat(dir, ".", mode, AtFlags::empty())?)
}

#[cfg(unix)]
fn like(file: &File, metadata: &cap_std::fs::Metadata) -> io::Result<()> {
    Ok(rustix::fs::fchmod(file, mode(metadata))?)
}

#[cfg(not(unix))]
fn like(file: &File, metadata: &cap_std::fs::Metadata) -> io::Result<()> {
    file.set_permissions(metadata.permissions())
}

/// Returns the permission bits without set-user-ID and set-group-ID: the copy belongs to the agent's account.
#[cfg(unix)]
fn mode(metadata: &cap_std::fs::Metadata) -> rustix::fs::Mode {
    use cap_fs_ext::OsMetadataExt;
    permissions(metadata.mode())
}
