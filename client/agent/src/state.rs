//! The state directory: the device's key and identity, readable by its owner only and used by one agent at
//! a time. Journal and trash are in it too; other modules write them.

mod error;
pub(crate) mod files;
mod identity;
pub(crate) mod names;
mod status;

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use orion_mtls::secret_file::{self, SecretFileError};

use self::names::{GENERATION, LOCK};
use crate::owner_file;

pub use error::StateError;
pub use identity::{EnrollmentStage, Identity, Pending, is_for, lifetime};
pub use status::Status;

/// The number of attempts to take the lock, and the pause between two.
const LOCK_TRIES: u32 = 5;
const LOCK_PAUSE: Duration = Duration::from_millis(20);

/// A state directory that this process has locked.
#[derive(Debug)]
pub struct State {
    dir: PathBuf,
    /// Locked while the file is open. The system releases the lock when the process ends, however it ends.
    _lock: File,
}

impl State {
    /// Locks the directory, and creates it for its owner alone if it is missing. No link in it is followed.
    ///
    /// # Errors
    /// [`StateError::Busy`] while another agent holds it, [`StateError::TooOpen`] or [`StateError::NotPrivate`] when
    /// other users may read it, [`StateError::Io`] for the rest.
    pub fn open(dir: &Path) -> Result<Self, StateError> {
        make_private(dir)?;
        let path = dir.join(LOCK);
        let failed = |source| StateError::Io { path: path.clone(), source };
        let lock = open_lock(dir, &path).map_err(failed)?;
        for _ in 0..LOCK_TRIES {
            match lock.try_lock() {
                Ok(()) => return Ok(Self { dir: dir.to_owned(), _lock: lock }),
                // `orion-agent status` shares the lock for a moment to see whether an agent runs.
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_PAUSE),
                Err(TryLockError::Error(source)) => return Err(failed(source)),
            }
        }
        Err(StateError::Busy { path: dir.to_owned() })
    }

    /// Returns whether an agent uses this directory. Nothing is made or changed: the directory may be missing, or belong
    /// to somebody else.
    ///
    /// # Errors
    /// [`StateError::Io`] when this account cannot tell, [`StateError::NotPrivate`] as for [`State::open`].
    pub fn is_used(dir: &Path) -> Result<bool, StateError> {
        #[cfg(windows)]
        if dir.is_dir() {
            refuse_others(dir)?;
        }
        let path = dir.join(LOCK);
        let failed = |source| StateError::Io { path: path.clone(), source };
        let lock = match owner_file::open(&path).and_then(only_file) {
            Ok(lock) => lock,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
            Err(source) => return Err(failed(source)),
        };
        match lock.try_lock_shared() {
            Ok(()) => Ok(false),
            Err(TryLockError::WouldBlock) => Ok(true),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }

    /// Returns the path of a file or folder in the directory.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.dir.join(name)
    }

    /// Returns the path of the directory.
    #[must_use]
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Releases the lock, and removes its file.
    pub fn remove_lock(self) {
        // A lock file that stays does no harm.
        drop(fs::remove_file(self.path(LOCK)));
    }

    /// Returns whether a connection was ever counted.
    #[must_use]
    pub fn has_connected(&self) -> bool {
        self.path(GENERATION).exists()
    }

    /// Increments the connection counter. The number is on disk before it is returned, so that it never
    /// decreases: a decrease would indicate a copied state directory.
    ///
    /// # Errors
    /// [`StateError`] when the counter cannot be read or written.
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

/// Opens the file of the lock. Where root makes it in the directory of another account, it is that account's.
fn open_lock(dir: &Path, path: &Path) -> io::Result<File> {
    match secret_file::private().read(true).write(true).create_new(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            owner_file::open_to_write(path).and_then(only_file)
        }
        made => {
            let lock = made?;
            #[cfg(unix)]
            owner_file::give_to_owner_of(File::open(dir)?, &lock)?;
            #[cfg(not(unix))]
            let _ = dir;
            Ok(lock)
        }
    }
}

fn only_file(file: File) -> io::Result<File> {
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(io::Error::new(io::ErrorKind::InvalidData, "it is not a file"))
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
    // A directory that is not empty may not be the agent's, so its mode is not changed.
    if fs::read_dir(dir).map_err(failed)?.next().is_some() {
        return Err(StateError::TooOpen { path: dir.to_owned(), mode });
    }
    fs::set_permissions(dir, fs::Permissions::from_mode(0o700)).map_err(failed)
}

#[cfg(windows)]
fn make_private(dir: &Path) -> Result<(), StateError> {
    use crate::access;

    let failed = |source| StateError::Io { path: dir.to_owned(), source };
    let is_empty = || fs::read_dir(dir).map(|mut it| it.next().is_none()).map_err(failed);
    access::create_private(dir).map_err(failed)?;
    // A directory that is not empty may not be the agent's, so its list is not changed.
    if is_empty()? {
        access::make_private(dir).map_err(failed)?;
        if !is_empty()? {
            let why = "got a file of another account when it was made";
            return Err(StateError::NotPrivate { path: dir.to_owned(), why, fix: "remove it" });
        }
    }
    refuse_others(dir)
}

/// Refuses a directory that other accounts may use.
#[cfg(windows)]
fn refuse_others(dir: &Path) -> Result<(), StateError> {
    use crate::access::{self, Fault, Others};

    let refused = |why, fix| Err(StateError::NotPrivate { path: dir.to_owned(), why, fix });
    match access::fault_at(dir, Others::Nothing) {
        None => Ok(()),
        Some(Fault::Owner) => {
            refused("belongs to another account", "give it to this one with icacls /setowner")
        }
        Some(Fault::NoList) => refused(
            "has no access list that can be read",
            "give it one for this account, SYSTEM and Administrators with icacls",
        ),
        Some(Fault::Rights) => refused(
            "is open to other accounts",
            "leave this account, SYSTEM and Administrators alone in its access list, with icacls or in its properties under Security,",
        ),
    }
}

#[cfg(not(any(unix, windows)))]
fn make_private(dir: &Path) -> Result<(), StateError> {
    fs::create_dir_all(dir).map_err(|source| StateError::Io { path: dir.to_owned(), source })
}

#[cfg(test)]
mod tests;
