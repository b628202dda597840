//! Files in a folder that another account may change at any moment: those of the state folder, which the owner's commands
//! write and read, perhaps as root for an agent of another account. Nothing here follows a link or changes a file by its
//! path.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use orion_domain::Digest;
use orion_mtls::secret_file;

/// Writes a file whole, in place of an earlier one. It is on the disk when this returns.
///
/// # Errors
/// The folder does not exist, or cannot be written by this account.
pub(crate) fn replace(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    let temporary = write_temporary(folder, bytes)?;
    if let Err(error) = fs::rename(&temporary, folder.join(name)) {
        drop(fs::remove_file(&temporary));
        return Err(error);
    }
    sync_folder(folder)
}

/// Writes a file whole, where there is none. Returns `false` where there is one: it is not changed.
///
/// # Errors
/// As [`replace`].
pub(crate) fn create(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<bool> {
    let temporary = write_temporary(folder, bytes)?;
    // A link never replaces a file, and the name appears with the whole content.
    let linked = fs::hard_link(&temporary, folder.join(name));
    fs::remove_file(&temporary)?;
    match linked {
        Ok(()) => sync_folder(folder).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
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
#[cfg(unix)]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    use rustix::fs::{CWD, Mode, OFlags, openat};
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(openat(CWD, path, flags, Mode::empty())?.into())
}

#[cfg(not(unix))]
pub(crate) fn open(path: &Path) -> io::Result<File> {
    File::open(path)
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
fn write_temporary(folder: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
    let path = folder.join(format!(".{}.tmp", Digest::of(&rand::random::<[u8; 32]>())));
    let mut file = secret_file::private().write(true).create_new(true).open(&path)?;
    let written = give_to_owner_of(folder, &file)
        .and_then(|()| file.write_all(bytes))
        .and_then(|()| file.sync_all());
    if let Err(error) = written {
        drop(fs::remove_file(&path));
        return Err(error);
    }
    Ok(path)
}

/// Gives an open file to the account of the folder.
#[cfg(unix)]
fn give_to_owner_of(folder: &Path, file: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, fchown};
    let folder = fs::metadata(folder)?;
    if folder.uid() == rustix::process::geteuid().as_raw() {
        return Ok(());
    }
    fchown(file, Some(folder.uid()), Some(folder.gid()))
}

#[cfg(not(unix))]
fn give_to_owner_of(_: &Path, _: &File) -> io::Result<()> {
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
        assert!(create(dir.path(), "a", b"one").unwrap());
        assert!(!create(dir.path(), "a", b"two").unwrap());
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
        assert!(!create(dir.path(), "link", b"new").unwrap());
        replace(dir.path(), "link", b"new").unwrap();
        assert_eq!(
            (fs::read(&kept).unwrap(), read(&link, 100).unwrap()),
            (b"kept".to_vec(), b"new".to_vec())
        );
    }
}
