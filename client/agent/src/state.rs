//! The state directory: the device's key and identity, for its owner alone and for one agent at a
//! time. The journal and the trash lie in it too, and are written elsewhere.

mod error;
mod identity;
mod status;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orion_mtls::secret_file::{self, SecretFileError};

pub use error::StateError;
pub use identity::{EnrollmentStage, Identity, Pending, is_for, lifetime};
pub use status::Status;

const LOCK: &str = "lock";
const GENERATION: &str = "generation";
/// How often the lock is tried, and the pause between.
const LOCK_TRIES: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// A state directory that this process holds.
#[derive(Debug)]
pub struct State {
    dir: PathBuf,
    /// Locked for as long as the file is open; the system lets go of it when the process ends,
    /// however it ends.
    _lock: File,
}

impl State {
    /// Takes the directory, and makes it (0700) where it is missing.
    ///
    /// # Errors
    /// [`StateError::Busy`] while another agent holds it, [`StateError::TooOpen`] when others may
    /// look into it, [`StateError::Io`] for the rest.
    pub fn open(dir: &Path) -> Result<Self, StateError> {
        make_private(dir)?;
        let path = dir.join(LOCK);
        let failed = |source| StateError::Io { path: path.clone(), source };
        let lock = secret_file::private()
            .create(true)
            .truncate(false)
            .write(true)
            .open(&path)
            .map_err(failed)?;
        for _ in 0..LOCK_TRIES {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { dir: dir.to_owned(), _lock: lock }),
                // `status` holds it for a moment to see whether anyone else does.
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        Err(StateError::Busy { path: dir.to_owned() })
    }

    /// A file or folder in the directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// The directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Whether a connection was ever counted.
    #[must_use]
    pub fn has_connected(&self) -> bool {
        self.path(GENERATION).exists()
    }

    /// Counts one connection more. The number is on disk before it is given, so that it never runs
    /// backwards: that would betray a copied state.
    ///
    /// # Errors
    /// [`StateError`] when the counter cannot be read or kept.
    pub fn next_generation(&self) -> Result<u64, StateError> {
        let path = self.path(GENERATION);
        let last = match secret_file::read_text(&path) {
            Ok(text) => text
                .expose()
                .trim()
                .parse::<u64>()
                .map_err(|_| StateError::Damaged { path: path.clone() })?,
            Err(SecretFileError::Read { source, .. })
                if source.kind() == io::ErrorKind::NotFound =>
            {
                0
            }
            Err(error) => return Err(error.into()),
        };
        let next = last.saturating_add(1);
        secret_file::write(&path, next.to_string().as_bytes())?;
        Ok(next)
    }
}

#[cfg(unix)]
fn make_private(dir: &Path) -> Result<(), StateError> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};

    let failed = |source| StateError::Io { path: dir.to_owned(), source };
    fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(failed)?;
    let mode = fs::metadata(dir).map_err(failed)?.permissions().mode() & 0o7777;
    if mode & 0o077 == 0 {
        return Ok(());
    }
    // A directory that is not empty may be something else altogether, whose mode is not ours.
    if fs::read_dir(dir).map_err(failed)?.next().is_some() {
        return Err(StateError::TooOpen { path: dir.to_owned(), mode });
    }
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(failed)
}

#[cfg(not(unix))]
fn make_private(dir: &Path) -> Result<(), StateError> {
    fs::create_dir_all(dir).map_err(|source| StateError::Io { path: dir.to_owned(), source })
}

#[cfg(test)]
mod tests;
