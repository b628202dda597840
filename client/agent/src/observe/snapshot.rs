//! Snapshots of entries by handle, for later comparison. Readable content of limited size is identified by
//! its digest. Other entries are identified by the kernel's inode number and times, among them the change
//! time, which no program can set.

use std::io::Read as _;

use cap_std::fs::{Metadata, OpenOptions};
use orion_domain::observation::Kind;
use orion_domain::{Access, Digest, ErrorCode, Observation, ToolError};
use sha2::{Digest as _, Sha256};

use crate::call::FileContext;
use crate::entry::{MAX_HASHED_BYTES, NoDigest, Target, inode, mode, of_reader};
use crate::roots::{FileKind, Located, Wanted, io_failure, regular};
use crate::walk::{Mode, Next, Visit, walk};

/// The state of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Snapshot {
    kind: Kind,
    bytes: u64,
    mode: u32,
    digest: Option<Digest>,
    /// The newest change time in the digest, in Unix nanoseconds. `None` if the digest is of content.
    pub(super) changed_ns: Option<i64>,
}

impl Snapshot {
    pub(super) const NOTHING: Self =
        Self { kind: Kind::Nothing, bytes: 0, mode: 0, digest: None, changed_ns: None };

    /// Returns the snapshot of a target. With `whole`, includes the contents of a folder.
    ///
    /// # Errors
    /// Errors of the operating system, `TIMEOUT` and `CANCELLED`.
    pub(super) fn at(
        target: &Target,
        whole: bool,
        context: &FileContext<'_>,
    ) -> Result<Self, ToolError> {
        let path = &target.path;
        let metadata = match target.dir.symlink_metadata(&target.name) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::NOTHING);
            }
            Err(error) => return Err(io_failure(&error, Wanted::Path, path)),
        };
        // Readable both as named and as resolved.
        let may_read = context.roots.grants(path, Access::Read)
            && context.roots.locate_real(&target.real, Access::Read).is_ok();
        let stamp = |kind| Self::stamp(kind, &metadata);
        let by_content = |kind, digest| Self { digest, changed_ns: None, ..stamp(kind) };
        Ok(match FileKind::of(metadata.file_type()) {
            FileKind::File if may_read && metadata.len() <= MAX_HASHED_BYTES => {
                match content(target, context) {
                    Ok(digest) => by_content(Kind::File, digest),
                    Err(error) if is_over(&error) => return Err(error),
                    // The agent's account may delete files that it may not read.
                    Err(_) => stamp(Kind::File),
                }
            }
            FileKind::File => stamp(Kind::File),
            FileKind::Link if may_read => {
                let leads = target.dir.read_link_contents(&target.name);
                let leads = leads.map_err(|error| io_failure(&error, Wanted::Path, path))?;
                by_content(Kind::Link, Some(Digest::of(leads.as_os_str().as_encoded_bytes())))
            }
            // The target of the link may be secret; its replacement is still detected.
            FileKind::Link => stamp(Kind::Link),
            FileKind::Special => stamp(Kind::Special),
            FileKind::Folder => Self::of_folder(&target.entered()?, whole, context)?,
        })
    }

    /// Returns the snapshot of a folder, with its contents if `whole` is set. A folder that cannot be read
    /// completely has no digest, so it always counts as changed.
    ///
    /// Errors of the operating system, `TIMEOUT` and `CANCELLED`.
    /// What the operating system refuses, `TIMEOUT` and `CANCELLED`.
    pub(super) fn of_folder(
        folder: &Located,
        whole: bool,
        context: &FileContext<'_>,
    ) -> Result<Self, ToolError> {
        let metadata = folder
            .dir
            .dir_metadata()
            .map_err(|error| io_failure(&error, Wanted::Directory, &folder.asked))?;
        let mut hasher = Sha256::new();
        hasher.update(inode(&metadata).to_be_bytes());
        let mut snapshot = Self {
            bytes: 0,
            digest: None,
            changed_ns: Some(i64::MIN),
            ..Self::stamp(Kind::Folder, &metadata)
        };
        let walked = if whole {
            walk(folder, Mode::Whole, context, &mut |visit| {
                snapshot.take(visit, &mut hasher);
                Ok(Next::On)
            })
        } else {
            Ok(false)
        };
        match walked {
            Ok(false) => Ok(Self { digest: Digest::from_slice(&hasher.finalize()), ..snapshot }),
            Err(error) if is_over(&error) => Err(error),
            Ok(true) | Err(_) => Ok(Self { bytes: 0, ..snapshot }),
        }
    }

    fn take(&mut self, visit: &Visit<'_>, hasher: &mut Sha256) {
        for name in visit.below {
            hasher.update((name.len() as u64).to_be_bytes());
            hasher.update(name.as_bytes());
        }
        hasher.update(u64::MAX.to_be_bytes());
        let Some(metadata) = visit.metadata() else { return };
        hasher.update(stamp_of(&metadata));
        if visit.what == FileKind::File {
            self.bytes = self.bytes.saturating_add(metadata.len());
        }
        self.changed_ns = self.changed_ns.max(Some(times(&metadata).changed_ns));
    }

    fn stamp(kind: Kind, metadata: &Metadata) -> Self {
        Self {
            kind,
            bytes: metadata.len(),
            mode: mode(metadata),
            digest: Some(Digest::of(&stamp_of(metadata))),
            changed_ns: Some(times(metadata).changed_ns),
        }
    }

    /// Returns the observation of a path.
    pub(super) fn observation(self, path: String, real: String) -> Observation {
        let Self { kind, bytes, mode, digest, changed_ns: _ } = self;
        Observation { path, real, kind, bytes, mode, digest }
    }

    /// Describes how a renamed entry differs from its observation before. A rename changes the entry's own
    /// times, but not its content or its entries.
    pub(super) fn drift_of_moved(self, before: &Observation) -> Option<String> {
        let mut now = self.observation(before.path.clone(), before.real.clone());
        if self.kind != Kind::Folder && self.changed_ns.is_some() {
            now.digest = before.digest;
        }
        before.drift(&now)
    }
}

/// Returns whether the call must stop.
const fn is_over(error: &ToolError) -> bool {
    matches!(error.code, ErrorCode::Timeout | ErrorCode::Cancelled)
}

/// Returns the SHA-256 of a file. `None` if the file grew beyond the limit.
fn content(target: &Target, context: &FileContext<'_>) -> Result<Option<Digest>, ToolError> {
    let Target { dir, name, path, .. } = target;
    let (file, _) = regular::open(dir, name, path, OpenOptions::new().read(true))?;
    let mut file = file.take(MAX_HASHED_BYTES + 1);
    let digest = of_reader(&mut file, &mut |_| context.check()).map_err(|no| match no {
        NoDigest::Io(error) => io_failure(&error, Wanted::File, path),
        NoDigest::Stopped(error) => error,
    })?;
    // The file may have grown since its size was read.
    Ok((file.limit() > 0).then_some(digest))
}

/// Returns inode number, size and times; any change to the entry changes them.
fn stamp_of(metadata: &Metadata) -> Vec<u8> {
    let Times { modified_ns, changed_ns } = times(metadata);
    let is_folder = FileKind::of(metadata.file_type()) == FileKind::Folder;
    let size = if is_folder { 0 } else { metadata.len() };
    [inode(metadata), size, modified_ns.cast_unsigned(), changed_ns.cast_unsigned()]
        .map(u64::to_be_bytes)
        .concat()
}

struct Times {
    modified_ns: i64,
    changed_ns: i64,
}

#[cfg(unix)]
fn times(metadata: &Metadata) -> Times {
    use cap_fs_ext::OsMetadataExt as _;
    let ns = |seconds: i64, ns: i64| seconds.saturating_mul(1_000_000_000).saturating_add(ns);
    Times {
        modified_ns: ns(metadata.mtime(), metadata.mtime_nsec()),
        changed_ns: ns(metadata.ctime(), metadata.ctime_nsec()),
    }
}

/// Windows reports change times for open files only; the modification time must do.
#[cfg(not(unix))]
fn times(metadata: &Metadata) -> Times {
    let since = metadata
        .modified()
        .ok()
        .and_then(|at| at.into_std().duration_since(std::time::SystemTime::UNIX_EPOCH).ok());
    let ns = since.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or_default();
    Times { modified_ns: ns, changed_ns: ns }
}
