//! Stamps of files and folders: enough to tell later whether an entry is the same and unchanged.

use std::io;
use std::time::SystemTime;

use cap_std::fs::{Dir, File, Metadata};
use orion_domain::Digest;
use serde::{Deserialize, Serialize};

use crate::roots::FileKind;

/// The execute bits of a mode.
const EXECUTE: u32 = 0o111;

/// The state of an entry at one moment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FileStamp {
    /// The kind of the entry.
    #[serde(with = "FileKindForm")]
    pub(crate) what: FileKind,
    /// Inode number on its file system.
    pub(crate) inode: u64,
    /// Size in bytes. 0 for a folder.
    pub(crate) bytes: u64,
    /// Bytes used on the disk; a file with holes uses less than its size. 0 for a folder.
    pub(crate) disk_bytes: u64,
    /// Time of the last change of content, in Unix nanoseconds. 0 for a folder.
    pub(super) modified_ns: i64,
    /// Unix permission bits.
    pub(crate) mode: u32,
    /// Digest of a file's content or a folder's entries. `None` if it was not computed.
    pub(crate) digest: Option<Digest>,
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
    pub(crate) fn is_executable(&self) -> bool {
        self.what == FileKind::File && self.mode & EXECUTE != 0
    }

    pub(crate) fn of(metadata: &Metadata) -> Self {
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
    pub(crate) fn at(dir: &Dir, name: &str) -> io::Result<Option<Self>> {
        match dir.symlink_metadata(name) {
            Ok(metadata) => Ok(Some(Self::of(&metadata))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Returns whether the entry is the same and its content was not written to.
    pub(crate) fn is_same(&self, now: &Self) -> bool {
        (self.what, self.inode, self.bytes, self.modified_ns)
            == (now.what, now.inode, now.bytes, now.modified_ns)
    }

    /// Describes for a person how `now` differs from this stamp.
    pub(crate) fn difference(&self, now: &Self) -> Option<&'static str> {
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

/// Returns the inode number on its file system; on Windows the file's index on its volume.
pub(crate) fn inode(metadata: &Metadata) -> u64 {
    cap_fs_ext::MetadataExt::ino(metadata)
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

/// Returns whether a file has an execute bit. Without such bits, its name decides.
#[cfg(unix)]
pub(crate) fn is_executable(metadata: &Metadata) -> bool {
    metadata.is_file() && mode(metadata) & EXECUTE != 0
}

#[cfg(not(unix))]
pub(crate) fn is_executable(_: &Metadata) -> bool {
    false
}
