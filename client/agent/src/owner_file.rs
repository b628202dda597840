//! Files in a folder that another account may change at any moment: those of the state folder, which the owner's commands
//! write and read, perhaps as root for an agent of another account. Nothing here follows a link or changes a file by its
//! path.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
#[cfg(unix)]
use std::os::fd::AsFd;
use std::path::Path;

use cap_fs_ext::{DirExt as _, FollowSymlinks, OpenOptionsFollowExt as _};
use cap_std::ambient_authority;
use cap_std::fs::{Dir, OpenOptions};
use orion_domain::Digest;

/// Writes a file whole, in place of an earlier one. It is on the disk when this returns.
///
/// # Errors
/// The folder does not exist, or cannot be written by this account.
pub(crate) fn replace(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let folder = Dir::open_ambient_dir(folder, ambient_authority())?;
    let temporary = write_temporary(&folder, bytes)?;
    if let Err(error) = folder.rename(&temporary, &folder, name) {
        drop(folder.remove_file(&temporary));
        return Err(error);
    }
    sync(&folder)
}

/// Writes a file whole, where there is none. Returns `false` where there is one: it is not changed.
///
/// # Errors
/// As [`replace`].
pub(crate) fn create(folder: &Dir, name: &str, bytes: &[u8]) -> io::Result<bool> {
    let temporary = write_temporary(folder, bytes)?;
    // A link never replaces a file, and the name appears with the whole content.
    let linked = folder.hard_link(&temporary, folder, name);
    folder.remove_file(&temporary)?;
    match linked {
        Ok(()) => sync(folder).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// Opens a folder in another one. A link is not followed.
///
/// # Errors
/// It is not there, no folder, or cannot be opened by this account.
pub(crate) fn folder_in(parent: &Path, name: &str) -> io::Result<Dir> {
    Dir::open_ambient_dir(parent, ambient_authority())?.open_dir_nofollow(name)
}

/// Reads a file of at most `max_bytes`.
///
/// # Errors
/// It cannot be read, is too large, is a link or no file, or belongs to another account than this one.
pub(crate) fn read(path: &Path, max_bytes: u64) -> io::Result<Vec<u8>> {
    let refused = |why| io::Error::new(io::ErrorKind::InvalidData, why);
    // A link that leads nowhere is no missing file.
    if fs::symlink_metadata(path)?.is_symlink() {
        return Err(refused("it is not a file"));
    }
    let file = open(path)?;
    // The open file is checked, because another one may have its name by now.
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(refused("it is not a file"));
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let me = rustix::process::geteuid().as_raw();
        if metadata.uid() != me && me != 0 {
            return Err(refused("it belongs to another account"));
        }
    }
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(refused("it is too large"));
    }
    Ok(bytes)
}

/// Opens a file that is no link, and no pipe that would block.
pub(crate) fn open(path: &Path) -> io::Result<File> {
    open_for(path, Access::Read)
}

/// Opens an existing file that is no link to read and write it, as [`open`] does.
pub(crate) fn open_to_write(path: &Path) -> io::Result<File> {
    open_for(path, Access::Write)
}

/// What an open file is used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
}

#[cfg(unix)]
fn open_for(path: &Path, access: Access) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let access = if access == Access::Write { OFlags::RDWR } else { OFlags::RDONLY };
    let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(openat(CWD, path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
fn open_for(path: &Path, access: Access) -> io::Result<File> {
    File::options().read(true).write(access == Access::Write).open(path)
}

/// Removes a file or a link. Returns whether there was one.
///
/// # Errors
/// It cannot be removed by this account.
pub(crate) fn remove(path: &Path) -> io::Result<bool> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Writes a file under a name that nobody can guess, for the account of the folder.
fn write_temporary(folder: &Dir, bytes: &[u8]) -> io::Result<String> {
    let name = format!(".{}.tmp", Digest::of(&rand::random::<[u8; 32]>()));
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).follow(FollowSymlinks::No);
    #[cfg(unix)]
    {
        use cap_fs_ext::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = folder.open_with(&name, &options)?;
    let written = give_to_owner_of(folder, &file)
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| file.sync_all());
    if let Err(error) = written {
        drop(folder.remove_file(&name));
        return Err(error);
    }
    Ok(name)
}

/// Gives an open file, which this process made, to the account of the open folder.
#[cfg(unix)]
pub(crate) fn give_to_owner_of(folder: impl AsFd, file: impl AsFd) -> io::Result<()> {
    use rustix::fs::{Gid, Uid, fchown, fstat};
    let folder = fstat(folder)?;
    if folder.st_uid == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    Ok(fchown(file, Some(Uid::from_raw(folder.st_uid)), Some(Gid::from_raw(folder.st_gid)))?)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same as on Unix, where files have an owner")]
fn give_to_owner_of(_: &Dir, _: &cap_std::fs::File) -> io::Result<()> {
    Ok(())
}

#[cfg(unix)]
fn sync(folder: &Dir) -> io::Result<()> {
    folder.open(".")?.sync_all()
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same as on Unix, where the disk may fail")]
fn sync(_: &Dir) -> io::Result<()> {
    Ok(())
}

/// Waits until the names in a folder are on the disk. A new one survives a power failure only then.
///
/// # Errors
/// The folder cannot be read, or the disk fails.
#[cfg(unix)]
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

#[cfg(not(unix))]
pub(crate) fn sync_folder(_: &Path) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_replaced_or_created_whole_and_nothing_stays_beside_it() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a");
        let open = Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap();
        assert!(create(&open, "a", b"one").unwrap());
        assert!(!create(&open, "a", b"two").unwrap());
        assert_eq!(read(&path, 3).unwrap(), b"one");
        replace(dir.path(), "a", b"three").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"three");
        assert!(read(&path, 4).is_err());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        assert!(replace(&dir.path().join("none"), "a", b"x").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn no_link_is_read_and_none_is_written_through() {
        let dir = tempfile::tempdir().unwrap();
        let (link, kept) = (dir.path().join("link"), dir.path().join("kept"));
        fs::write(&kept, "kept").unwrap();
        std::os::unix::fs::symlink(&kept, &link).unwrap();
        assert!(read(&link, 100).is_err());
        let open = Dir::open_ambient_dir(dir.path(), ambient_authority()).unwrap();
        assert!(!create(&open, "link", b"new").unwrap());
        replace(dir.path(), "link", b"new").unwrap();
        assert_eq!(
            (fs::read(&kept).unwrap(), read(&link, 100).unwrap()),
            (b"kept".to_vec(), b"new".to_vec())
        );
        std::os::unix::fs::symlink(dir.path(), dir.path().join("folder")).unwrap();
        assert!(folder_in(dir.path(), "folder").is_err());
    }
}
