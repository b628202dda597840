//! Digests of files and folders, in work that can be stopped.

use std::ffi::OsString;
use std::io::{self, Read};

use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};
use orion_domain::{Digest, ToolError};
use sha2::{Digest as _, Sha256};

use super::{FileStamp, Target};
use crate::roots::FileKind;

/// Largest file that is compared by digest, in bytes. Larger files are compared by inode, size and times.
pub(crate) const MAX_HASHED_BYTES: u64 = 64 * 1024 * 1024;
/// Maximum folder depth of a digest; each level holds one open handle.
const MAX_DEPTH: usize = 256;

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

impl From<io::Error> for NoDigest {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// The amount of files and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Files and folders, itself included.
    pub(crate) entries: u64,
    /// Bytes of content in the files.
    pub(crate) bytes: u64,
    /// Bytes that the files use on the disk.
    pub(crate) disk_bytes: u64,
}

/// Digest and extent of a folder.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) digest: Digest,
    pub(crate) extent: Extent,
}

/// Adds the digest of a target to its stamp, and returns the extent.
pub(crate) fn with_digest(
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
    of_reader(dir.open_with(name, &options)?.take(MAX_HASHED_BYTES + 1), &mut |_| check())
}

/// Returns the digest of everything a reader yields. `check` is called with the bytes read so far.
pub(crate) fn of_reader(
    mut reader: impl Read,
    check: &mut dyn FnMut(u64) -> Result<(), ToolError>,
) -> Result<Digest, NoDigest> {
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut done = 0;
    loop {
        check(done).map_err(NoDigest::Stopped)?;
        match reader.read(&mut buffer) {
            Ok(0) => return Ok(finish(hasher)),
            Ok(read) => {
                hasher.update(buffer.get(..read).unwrap_or_default());
                done += read as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Returns the digest over path, kind, mode, size and modification time of every entry below a folder.
pub(crate) fn of_tree(dir: Dir, check: Check<'_>) -> Result<Tree, NoDigest> {
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

pub(crate) fn finish(hasher: Sha256) -> Digest {
    let bytes: [u8; 32] = hasher.finalize().into();
    Digest::from_slice(&bytes).unwrap_or(Digest::ZERO)
}
