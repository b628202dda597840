//! Opens folders and files one name below a handle, and lists folders. A name is never a path here, and no
//! link is followed, so a swapped entry never leads elsewhere.

use std::io;
use std::ops::ControlFlow;

use cap_std::fs::{Dir, File};

use crate::roots::FileKind;

/// A folder opened for listing.
#[derive(Debug)]
pub(crate) struct Handle {
    pub(crate) dir: Dir,
    /// Device number of the file system. 0 where systems are not distinguished.
    device: u64,
}

impl Handle {
    /// Opens a held folder again: listing needs its own position.
    pub(crate) fn again(dir: &Dir) -> io::Result<Self> {
        let dir = system::open_again(dir)?;
        let device = system::device(&dir)?;
        Ok(Self { dir, device })
    }

    /// Opens the subfolder of this name. `None` if it lies on a file system without files, such as `/proc`,
    /// and its parent does not.
    pub(crate) fn enter(&self, name: &str) -> io::Result<Option<Self>> {
        let dir = system::open_folder(&self.dir, name)?;
        let device = system::device(&dir)?;
        if device != self.device && system::is_pseudo(&dir) {
            return Ok(None);
        }
        Ok(Some(Self { dir, device }))
    }

    /// Opens the regular file of this name. Returns it with its size in bytes. `None` for any other entry,
    /// and for a file of the kernel that is mounted there. The open does not block.
    pub(crate) fn file(&self, name: &str) -> io::Result<Option<(File, u64)>> {
        let file = system::open_file(&self.dir, name)?;
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Ok(None);
        }
        let foreign = system::device_of(&metadata) != self.device && system::is_pseudo(&file);
        Ok((!foreign).then_some((file, metadata.len())))
    }
}

/// Lists folders, one after the other.
#[derive(Debug, Default)]
pub(crate) struct Reader {
    buffer: Vec<u8>,
}

impl Reader {
    /// Calls `each` for every name in the folder, in no order, with its kind. The name is `None` if it is not
    /// text. Skips entries that are gone before they are inspected.
    pub(crate) fn each(
        &mut self,
        folder: &Handle,
        each: impl FnMut(Option<&str>, FileKind) -> ControlFlow<()>,
    ) -> io::Result<()> {
        system::each(&folder.dir, &mut self.buffer, each)
    }
}

/// Returns the name if it is a single name, whatever a file system reports.
fn plain(name: &str) -> Option<&str> {
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

#[cfg(target_os = "linux")]
mod system {
    use cap_fs_ext::MetadataExt;
    use cap_std::fs::Metadata;
    use rustix::fd::{AsFd, OwnedFd};
    use rustix::fs::{FileType, Mode, OFlags, RawDir, openat};

    use super::{ControlFlow, Dir, File, FileKind, io, plain};

    const BUFFER_BYTES: usize = 64 * 1024;
    const FOLDER: OFlags =
        OFlags::DIRECTORY.union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC).union(OFlags::RDONLY);
    const FILE: OFlags = OFlags::NOFOLLOW
        .union(OFlags::NONBLOCK)
        .union(OFlags::NOCTTY)
        .union(OFlags::CLOEXEC)
        .union(OFlags::RDONLY);

    pub(super) fn open_again(dir: &Dir) -> io::Result<Dir> {
        open(dir, ".", FOLDER).map(|fd| Dir::from_std_file(fd.into()))
    }

    pub(super) fn open_folder(dir: &Dir, name: &str) -> io::Result<Dir> {
        let name = plain(name).ok_or(io::ErrorKind::InvalidInput)?;
        open(dir, name, FOLDER).map(|fd| Dir::from_std_file(fd.into()))
    }

    pub(super) fn open_file(dir: &Dir, name: &str) -> io::Result<File> {
        let name = plain(name).ok_or(io::ErrorKind::InvalidInput)?;
        open(dir, name, FILE).map(|fd| File::from_std(fd.into()))
    }

    /// Opens one component and follows no link: the kernel resolves nothing outside `dir`.
    fn open(dir: &Dir, name: &str, flags: OFlags) -> io::Result<OwnedFd> {
        Ok(openat(dir, name, flags, Mode::empty())?)
    }

    pub(super) fn device(dir: &Dir) -> io::Result<u64> {
        Ok(dir.dir_metadata()?.dev())
    }

    pub(super) fn device_of(metadata: &Metadata) -> u64 {
        metadata.dev()
    }

    pub(super) fn is_pseudo(opened: impl AsFd) -> bool {
        crate::roots::is_pseudo(opened)
    }

    pub(super) fn each(
        dir: &Dir,
        buffer: &mut Vec<u8>,
        mut each: impl FnMut(Option<&str>, FileKind) -> ControlFlow<()>,
    ) -> io::Result<()> {
        buffer.reserve(BUFFER_BYTES);
        let mut names = RawDir::new(dir, buffer.spare_capacity_mut());
        while let Some(entry) = names.next() {
            let entry = entry?;
            let bytes = entry.file_name().to_bytes();
            if matches!(bytes, b"." | b"..") {
                continue;
            }
            let name = std::str::from_utf8(bytes).ok().and_then(plain);
            let what = match entry.file_type() {
                FileType::RegularFile => FileKind::File,
                FileType::Directory => FileKind::Folder,
                FileType::Symlink => FileKind::Link,
                FileType::Unknown => match name.map(|name| dir.symlink_metadata(name)) {
                    Some(Ok(metadata)) => FileKind::of(metadata.file_type()),
                    Some(Err(_)) => continue,
                    None => FileKind::Special,
                },
                FileType::Fifo
                | FileType::Socket
                | FileType::CharacterDevice
                | FileType::BlockDevice => FileKind::Special,
            };
            if each(name, what).is_break() {
                break;
            }
        }
        Ok(())
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use cap_fs_ext::{DirExt, FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
    use cap_std::fs::{Metadata, OpenOptions};

    use super::{ControlFlow, Dir, File, FileKind, io, plain};

    pub(super) fn open_again(dir: &Dir) -> io::Result<Dir> {
        dir.try_clone()
    }

    pub(super) fn open_folder(dir: &Dir, name: &str) -> io::Result<Dir> {
        dir.open_dir_nofollow(plain(name).ok_or(io::ErrorKind::InvalidInput)?)
    }

    pub(super) fn open_file(dir: &Dir, name: &str) -> io::Result<File> {
        let name = plain(name).ok_or(io::ErrorKind::InvalidInput)?;
        // Outside Linux even the open of a device may block, so devices are not opened at all.
        if !dir.symlink_metadata(name)?.is_file() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut options = OpenOptions::new();
        dir.open_with(name, options.read(true).follow(FollowSymlinks::No).nonblock(true))
    }

    pub(super) fn device(_: &Dir) -> io::Result<u64> {
        Ok(0)
    }

    pub(super) fn device_of(_: &Metadata) -> u64 {
        0
    }

    pub(super) fn is_pseudo<T>(_: &T) -> bool {
        false
    }

    pub(super) fn each(
        dir: &Dir,
        _: &mut Vec<u8>,
        mut each: impl FnMut(Option<&str>, FileKind) -> ControlFlow<()>,
    ) -> io::Result<()> {
        for entry in dir.entries()? {
            let entry = entry?;
            let name = entry.file_name();
            let Ok(kind) = entry.file_type() else { continue };
            if each(name.to_str().and_then(plain), FileKind::of(kind)).is_break() {
                break;
            }
        }
        Ok(())
    }
}
