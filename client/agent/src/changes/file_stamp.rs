//! Stamps of files and folders: enough to tell later whether an entry is the same and unchanged.

use std::ffi::OsString;
use std::io::{self, Read};
use std::time::SystemTime;

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use orion_domain::{Digest, ToolError};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{StepError, Target};
use crate::roots::FileKind;

/// Largest file that is compared by digest, in bytes. Larger files are compared by inode, size and times.
pub(crate) const MAX_HASHED_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum folder depth of a digest; each level holds one open handle.
const MAX_DEPTH: usize = 256;

/// The state of an entry at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileStamp {
    /// The kind of the entry.
    #[serde(with = "FileKindForm")]
    pub(crate) what: FileKind,
    /// Inode number on its file system.
    pub(super) inode: u64,
    /// Size in bytes. 0 for a folder.
    pub(crate) bytes: u64,
    /// Bytes used on the disk; a file with holes uses less than its size. 0 for a folder.
    pub(crate) disk_bytes: u64,
    /// Time of the last change of content, in Unix nanoseconds. 0 for a folder.
    modified_ns: i64,
    /// Unix permission bits.
    pub(super) mode: u32,
    /// Digest of a file's content or a folder's entries. `None` if it was not computed.
    pub(super) digest: Option<Digest>,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "FileKind", rename_all = "snake_case")]
enum FileKindForm {
    File,
    Folder,
    Link,
    Special,
}

impl FileStamp {
    /// Returns whether the entry is a file with an execute bit.
    pub(super) fn is_executable(&self) -> bool {
        self.what == FileKind::File && self.mode & super::rights::EXECUTE != 0
    }

    pub(super) fn of(metadata: &Metadata) -> Self {
        let what = FileKind::of(metadata.file_type());
        let modified = || {
            let at = metadata.modified().ok()?.into_std();
            let since = at.duration_since(SystemTime::UNIX_EPOCH).ok()?;
            i64::try_from(since.as_nanos()).ok()
        };
        let is_folder = what == FileKind::Folder;
        Self {
            what,
            inode: inode(metadata),
            bytes: if is_folder { 0 } else { metadata.len() },
            disk_bytes: if is_folder { 0 } else { disk_bytes(metadata) },
            modified_ns: if is_folder { 0 } else { modified().unwrap_or_default() },
            mode: mode(metadata),
            digest: None,
        }
    }

    /// Returns the stamp of an open file.
    pub(crate) fn of_file(file: &File) -> io::Result<Self> {
        Ok(Self::of(&file.metadata()?))
    }

    /// Returns the stamp of an open folder.
    pub(crate) fn of_folder(dir: &Dir) -> io::Result<Self> {
        Ok(Self::of(&dir.dir_metadata()?))
    }

    /// Returns the stamp of a name. `None` if the name is free.
    pub(super) fn at(dir: &Dir, name: &str) -> io::Result<Option<Self>> {
        match dir.symlink_metadata(name) {
            Ok(metadata) => Ok(Some(Self::of(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns whether the entry is the same and its content was not written to.
    pub(super) fn is_same(&self, now: &Self) -> bool {
        (self.what, self.inode, self.bytes, self.modified_ns)
            == (now.what, now.inode, now.bytes, now.modified_ns)
    }

    /// Describes for a person how `now` differs from this stamp.
    pub(super) fn difference(&self, now: &Self) -> Option<&'static str> {
        if self.what != now.what {
            return Some("something else has its name");
        }
        if self.mode != now.mode {
            return Some("it may be used by others than before");
        }
        let is_unchanged = match (self.digest, now.digest) {
            (Some(before), Some(now)) => before == now,
            _ => self.is_same(now),
        };
        (!is_unchanged).then_some(match self.what {
            FileKind::Folder => "what is in it has changed",
            FileKind::File | FileKind::Link | FileKind::Special => "its content has changed",
        })
    }
}

/// Returns the inode number on its file system.
#[cfg(unix)]
pub(crate) fn inode(metadata: &Metadata) -> u64 {
    cap_fs_ext::MetadataExt::ino(metadata)
}

/// Windows reports inode numbers for open files only; size and time must do.
#[cfg(not(unix))]
pub(crate) fn inode(_: &Metadata) -> u64 {
    0
}

/// Returns the bytes that an entry uses on the disk. Blocks are 512 bytes on every Unix.
#[cfg(unix)]
pub(crate) fn disk_bytes(metadata: &Metadata) -> u64 {
    cap_fs_ext::OsMetadataExt::blocks(metadata).saturating_mul(512)
}

#[cfg(not(unix))]
pub(crate) fn disk_bytes(metadata: &Metadata) -> u64 {
    metadata.len()
}

/// Returns the Unix permission bits.
#[cfg(unix)]
pub(crate) fn mode(metadata: &Metadata) -> u32 {
    cap_fs_ext::OsMetadataExt::mode(metadata) & 0o7777
}

#[cfg(not(unix))]
pub(crate) fn mode(metadata: &Metadata) -> u32 {
    metadata.permissions().readonly().into()
}

/// Checked regularly during long work; an error stops the work.
pub(crate) type Check<'a> = &'a dyn Fn() -> Result<(), ToolError>;

/// Why no digest was computed.
#[derive(Debug)]
pub(crate) enum NoDigest {
    /// The file system failed.
    Io(io::Error),
    /// The call must stop.
    Stopped(ToolError),
}

impl NoDigest {
    pub(super) fn of(self, target: &Target) -> StepError {
        match self {
            Self::Io(error) => StepError::io(&error, target),
            Self::Stopped(error) => StepError::Failed(error),
        }
    }
}

impl From<io::Error> for NoDigest {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The amount of files and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Extent {
    /// Files and folders, itself included.
    pub(super) entries: u64,
    /// Bytes of content in the files.
    pub(super) bytes: u64,
    /// Bytes that the files use on the disk.
    pub(super) disk_bytes: u64,
}

/// Digest and extent of a folder.
#[derive(Debug)]
pub(super) struct Tree {
    pub(super) digest: Digest,
    pub(super) extent: Extent,
}

/// Adds the digest of a target to its stamp, and returns the extent.
pub(super) fn with_digest(
    mut stamp: FileStamp,
    target: &Target,
    check: Check<'_>,
) -> Result<(FileStamp, Extent), NoDigest> {
    let Target { dir, name, .. } = target;
    let mut extent = Extent { entries: 1, bytes: stamp.bytes, disk_bytes: stamp.disk_bytes };
    stamp.digest = match stamp.what {
        FileKind::File if stamp.bytes <= MAX_HASHED_BYTES => Some(of_content(dir, name, check)?),
        FileKind::Link => {
            Some(Digest::of(dir.read_link_contents(name)?.as_os_str().as_encoded_bytes()))
        }
        FileKind::Folder => {
            let tree = of_tree(dir.open_dir_nofollow(name)?, check)?;
            extent = tree.extent;
            Some(tree.digest)
        }
        FileKind::File | FileKind::Special => None,
    };
    Ok((stamp, extent))
}

fn of_content(dir: &Dir, name: &str, check: Check<'_>) -> Result<Digest, NoDigest> {
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    of_reader(dir.open_with(name, &options)?.take(MAX_HASHED_BYTES + 1), check)
}

/// Returns the digest of everything a reader yields.
pub(crate) fn of_reader(mut file: impl Read, check: Check<'_>) -> Result<Digest, NoDigest> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        check().map_err(NoDigest::Stopped)?;
        match file.read(&mut buffer)? {
            0 => return Ok(finish(hasher)),
            read => hasher.update(buffer.get(..read).unwrap_or_default()),
        }
    }
}

/// Returns the digest over path, kind, mode, size and modification time of every entry below a folder.
pub(super) fn of_tree(dir: Dir, check: Check<'_>) -> Result<Tree, NoDigest> {
    let mut hasher = Sha256::new();
    let (mut entries, mut bytes, mut disk_bytes) = (1, 0_u64, 0_u64);
    let mut field = |value: &[u8]| {
        hasher.update((value.len() as u64).to_be_bytes());
        hasher.update(value);
    };
    let mut open = vec![(names(&dir)?, dir)];
    while let Some((names, dir)) = open.last_mut() {
        let Some(name) = names.pop() else {
            field(b"..");
            open.pop();
            continue;
        };
        check().map_err(NoDigest::Stopped)?;
        let stamp = FileStamp::of(&dir.symlink_metadata(&name)?);
        entries += 1;
        bytes = bytes.saturating_add(if stamp.what == FileKind::File { stamp.bytes } else { 0 });
        disk_bytes = disk_bytes.saturating_add(stamp.disk_bytes);
        field(name.as_encoded_bytes());
        let what: u8 = match stamp.what {
            FileKind::File => 0,
            FileKind::Folder => 1,
            FileKind::Link => 2,
            FileKind::Special => 3,
        };
        field(&[what]);
        field(&stamp.mode.to_be_bytes());
        field(&stamp.bytes.to_be_bytes());
        field(&stamp.modified_ns.to_be_bytes());
        if stamp.what == FileKind::Folder {
            if open.len() >= MAX_DEPTH {
                return Err(io::Error::from(io::ErrorKind::InvalidInput).into());
            }
            let below = open.last().map(|(_, dir)| dir.open_dir_nofollow(&name)).transpose()?;
            if let Some(below) = below {
                open.push((self::names(&below)?, below));
            }
        }
    }
    Ok(Tree { digest: finish(hasher), extent: Extent { entries, bytes, disk_bytes } })
}

/// Returns the names in a folder in reverse order.
fn names(dir: &Dir) -> io::Result<Vec<OsString>> {
    let mut names: Vec<_> =
        dir.entries()?.map(|entry| Ok(entry?.file_name())).collect::<io::Result<_>>()?;
    names.sort_unstable_by(|a, b| b.cmp(a));
    Ok(names)
}

pub(super) fn finish(hasher: Sha256) -> Digest {
    let bytes: [u8; 32] = hasher.finalize().into();
    Digest::from_slice(&bytes).unwrap_or(Digest::ZERO)
}
