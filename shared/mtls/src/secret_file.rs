//! Secret files: written atomically with owner-only access, and not read when others could have read
//! them.
//!
//! On Windows there are no mode bits: a file takes the permissions of its directory, which the installer
//! restricts.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use crate::provider::random;
use crate::secret::Secret;

/// The maximum size of a secret, in bytes.
const MAX_BYTES: u64 = 64 * 1024;

/// Why a secret could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum SecretFileError {
    /// The file could not be written; its previous content is unchanged.
    #[error("{path} could not be written: {source}", path = path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// The file could not be read. `source` distinguishes a missing file from other errors.
    #[error("{path} could not be read: {source}{}", step(source), path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Other users may read or write the file, so it may no longer be a secret.
    #[error(
        "{path} is open to other users (mode {mode:04o}); run `chmod 600` on it, and replace the secret if others may have read it",
        path = path.display()
    )]
    TooOpen {
        /// The file.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// A directory or a device, or larger than any secret.
    #[error("{path} is not a file of at most 64 KiB, so it is not the secret that was expected", path = path.display())]
    NotASecret {
        /// The file.
        path: PathBuf,
    },
}

/// Writes `bytes` to `path`, readable and writable by the owner only.
///
/// The file appears under its name only when it is complete and on disk, and replaces the previous file.
///
/// # Errors
/// [`SecretFileError::Write`]; no partial file remains.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), SecretFileError> {
    write_and_rename(path, bytes)
        .map_err(|source| SecretFileError::Write { path: path.to_owned(), source })
}

/// Returns what to do about a file that cannot be read, where that is known.
fn step(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::NotADirectory {
        "; a part of its path is a file and not a folder: name the right folder"
    } else if error.kind() == io::ErrorKind::PermissionDenied {
        "; run this as the owner of the file"
    } else {
        ""
    }
}

/// Reads the secret at `path`.
///
/// # Errors
/// [`SecretFileError::TooOpen`] when group or others have any access (Unix),
/// [`SecretFileError::NotASecret`] for what is not a small file, [`SecretFileError::Read`] for the rest.
pub fn read(path: &Path) -> Result<Secret<Vec<u8>>, SecretFileError> {
    let failed = |source| SecretFileError::Read { path: path.to_owned(), source };
    let not_a_secret = || SecretFileError::NotASecret { path: path.to_owned() };
    // Checked before the file is opened, because opening a named pipe would wait for its other end.
    if !fs::metadata(path).map_err(failed)?.is_file() {
        return Err(not_a_secret());
    }
    let file = File::open(path).map_err(failed)?;
    // Read from the open file, so that it describes the file that is read.
    let metadata = file.metadata().map_err(failed)?;
    if !metadata.is_file() || metadata.len() > MAX_BYTES {
        return Err(not_a_secret());
    }
    refuse_open_modes(path, &metadata)?;
    let mut bytes = Vec::new();
    file.take(MAX_BYTES).read_to_end(&mut bytes).map_err(failed)?;
    Ok(Secret::new(bytes))
}

/// Reads the secret at `path` as UTF-8 text, such as a PEM key.
///
/// # Errors
/// As [`read`], and [`SecretFileError::NotASecret`] when it is not text.
pub fn read_text(path: &Path) -> Result<Secret<String>, SecretFileError> {
    String::from_utf8(read(path)?.into_inner())
        .map(Secret::new)
        .map_err(|_| SecretFileError::NotASecret { path: path.to_owned() })
}

#[cfg(unix)]
fn refuse_open_modes(path: &Path, metadata: &fs::Metadata) -> Result<(), SecretFileError> {
    use std::os::unix::fs::PermissionsExt;

    let mode = metadata.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 {
        Ok(())
    } else {
        Err(SecretFileError::TooOpen { path: path.to_owned(), mode })
    }
}

#[cfg(not(unix))]
fn refuse_open_modes(_path: &Path, _metadata: &fs::Metadata) -> Result<(), SecretFileError> {
    Ok(())
}

fn write_and_rename(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let directory = match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        Some(_) | None => Path::new("."),
    };
    let suffix = hex::encode(random::<8>().map_err(io::Error::other)?);
    let mut temporary = std::ffi::OsString::from(".");
    temporary.push(name);
    temporary.push(format!(".{suffix}.tmp"));
    let temporary = directory.join(temporary);

    let written = write_new(&temporary, bytes).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        drop(fs::remove_file(&temporary));
        return written;
    }
    // A rename survives a power failure only when the directory is on disk as well.
    #[cfg(unix)]
    File::open(directory)?.sync_all()?;
    Ok(())
}

/// Returns options that create a file readable by its owner only.
#[must_use]
pub fn private() -> OpenOptions {
    // On other systems than Unix, the file inherits the folder's permissions.
    #[cfg_attr(not(unix), expect(unused_mut, reason = "there is no mode to set"))]
    let mut options = OpenOptions::new();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = private().write(true).create_new(true).open(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(directory: &Path) -> Vec<String> {
        fs::read_dir(directory)
            .unwrap()
            .map(|entry| entry.unwrap().file_name().into_string().unwrap())
            .collect()
    }

    #[test]
    fn a_secret_is_read_back_replaced_and_leaves_nothing_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key.pem");
        write(&path, b"first").unwrap();
        write(&path, b"second").unwrap();
        assert_eq!(read(&path).unwrap().expose(), b"second");
        assert_eq!(read_text(&path).unwrap().expose(), "second");
        assert_eq!(names(directory.path()), ["key.pem"]);
    }

    #[test]
    fn a_failed_write_leaves_nothing_behind() {
        let directory = tempfile::tempdir().unwrap();
        // A file cannot replace a directory.
        let path = directory.path().join("taken");
        fs::create_dir(&path).unwrap();
        let error = write(&path, b"secret").unwrap_err();
        assert!(matches!(error, SecretFileError::Write { .. }), "{error:?}");
        assert_eq!(names(directory.path()), ["taken"]);
        assert!(write(&directory.path().join("no/such/place"), b"secret").is_err());
    }

    #[test]
    fn what_is_missing_too_large_or_no_file_is_told_apart() {
        let directory = tempfile::tempdir().unwrap();
        let missing = read(&directory.path().join("key.pem")).unwrap_err();
        assert!(
            matches!(&missing, SecretFileError::Read { source, .. } if source.kind() == io::ErrorKind::NotFound)
        );
        let large = directory.path().join("large");
        write(&large, &vec![b'x'; 64 * 1024 + 1]).unwrap();
        for path in [directory.path(), large.as_path()] {
            let error = read(path).unwrap_err();
            assert!(matches!(error, SecretFileError::NotASecret { .. }), "{error:?}");
        }
        write(&large, &[0xff, 0xfe]).unwrap();
        let error = read_text(&large).unwrap_err();
        assert!(matches!(error, SecretFileError::NotASecret { .. }), "{error:?}");
    }

    #[cfg(unix)]
    #[test]
    fn a_secret_is_for_its_owner_and_refused_when_others_have_access() {
        use std::os::unix::fs::PermissionsExt;

        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("key.pem");
        fs::write(&path, b"old and open").unwrap();
        write(&path, b"secret").unwrap();
        let mode = fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o7777, 0o600);

        for mode in [0o640, 0o604, 0o620, 0o610] {
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            let error = read(&path).unwrap_err();
            assert!(
                matches!(error, SecretFileError::TooOpen { mode: found, .. } if found == mode),
                "{error:?}"
            );
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o400)).unwrap();
        assert_eq!(read(&path).unwrap().expose(), b"secret");
    }
}
