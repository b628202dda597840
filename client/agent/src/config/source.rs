//! The owner's file on the disk: whether it can be trusted, and whether it has changed.
//!
//! A running agent checks it every two seconds. It does not reload on a signal: an agent that handled
//! `SIGHUP` would outlive the terminal that it was started in.

use std::fs::{self, Metadata};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use tokio::time::sleep;

use super::{ConfigError, Required, Settings};

/// The largest file that is read, in bytes.
const MAX_BYTES: u64 = 1024 * 1024;
/// How often the file is checked.
const CHECK_INTERVAL: Duration = Duration::from_secs(2);
/// How long a changed file must stay unchanged before it is read: half of it may mean something else.
const SETTLE_INTERVAL: Duration = Duration::from_millis(500);
/// After this many further changes the file is read although it still changes.
const MAX_SETTLE_CHECKS: u32 = 20;

/// Reads the file, if only its owner can have written it.
pub(super) fn read(path: &Path, required: Required) -> Result<String, ConfigError> {
    let failed = |source| ConfigError::Read { path: path.to_owned(), source };
    let is_fit = |metadata: &Metadata| metadata.is_file() && metadata.len() <= MAX_BYTES;
    let not_a_file = || ConfigError::NotAFile { path: path.to_owned() };
    match fs::metadata(path) {
        // Opening a pipe would block.
        Ok(metadata) if !is_fit(&metadata) => Err(not_a_file()),
        Ok(_) => {
            let file = fs::File::open(path).map_err(failed)?;
            // The opened file is checked, because another file may be at the path by now.
            let metadata = file.metadata().map_err(failed)?;
            if !is_fit(&metadata) {
                return Err(not_a_file());
            }
            if let Some((why, fix)) = distrust(path, &metadata) {
                return Err(ConfigError::NotTheOwners { path: path.to_owned(), why, fix });
            }
            io::read_to_string(file.take(MAX_BYTES)).map_err(failed)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound && required == Required::No => {
            Ok(String::new())
        }
        Err(error) => Err(failed(error)),
    }
}

/// Returns why another account may have written the file, and what to do about it. An account that can
/// write it could set the ceiling; reading it is allowed to every account.
#[cfg(unix)]
pub(crate) fn distrust(path: &Path, file: &Metadata) -> Option<(&'static str, &'static str)> {
    use std::os::unix::fs::MetadataExt;

    const OTHERS_WRITE: u32 = 0o002;
    const GROUP_WRITES: u32 = 0o020;
    const STICKY: u32 = 0o1000;
    let (me, root) = (rustix::process::geteuid().as_raw(), 0);
    let own_group = rustix::process::getegid().as_raw();
    // Many systems give each account a group of its own, with the same number.
    let is_alone = |it: &Metadata| it.gid() == own_group && own_group == me;
    let group_writes = |it: &Metadata| it.mode() & GROUP_WRITES != 0 && !is_alone(it);
    let folder =
        path.parent().map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it });
    let folder = folder.and_then(|folder| fs::metadata(folder).ok());
    if file.mode() & OTHERS_WRITE != 0 {
        Some(("may be written by everybody on this device", "take that away with chmod o-w"))
    } else if group_writes(file) {
        Some(("may be written by a group of accounts", "take that away with chmod g-w"))
    } else if file.uid() != me && file.uid() != root {
        Some(("belongs to another account", "give it to this one, or to root, with chown"))
    } else if let Some(it) = &folder
        && it.uid() != me
        && it.uid() != root
    {
        Some((
            "lies in a folder of another account, which may replace it",
            "keep it in a folder of this account or of root",
        ))
    } else if folder
        .as_ref()
        .is_some_and(|it| it.mode() & OTHERS_WRITE != 0 && it.mode() & STICKY == 0)
    {
        Some((
            "lies in a folder in which everybody on this device may replace it",
            "take that away with chmod o-w on the folder",
        ))
    } else if folder.is_some_and(|it| group_writes(&it) && it.mode() & STICKY == 0) {
        Some((
            "lies in a folder in which a group of accounts may replace it",
            "take that away with chmod g-w on the folder",
        ))
    } else {
        None
    }
}

/// Returns why another account may have written the file, and what to do about it, as on Unix. Who can replace it at its
/// path has the right in its folder, so that the open file need not be asked.
#[cfg(windows)]
pub(crate) fn distrust(path: &Path, _: &Metadata) -> Option<(&'static str, &'static str)> {
    use crate::access::{Fault, Others, fault_at};

    let folder =
        path.parent().map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it });
    let of_folder = || folder.and_then(|folder| fault_at(folder, Others::Read));
    match (fault_at(path, Others::Read), of_folder()) {
        (None, None) => None,
        (Some(Fault::Owner), _) => Some((
            "belongs to another account",
            "give it to this one, or to Administrators, with icacls /setowner",
        )),
        (Some(Fault::NoList), _) => Some((
            "has no access list that can be read",
            "give it one with icacls in which this account, SYSTEM and Administrators alone may write",
        )),
        (Some(Fault::Rights), _) => Some((
            "may be written by other accounts",
            "take that away with icacls, or in its properties under Security",
        )),
        (None, Some(Fault::Owner)) => Some((
            "lies in a folder of another account, which may replace it",
            "keep it in a folder of this account or of Administrators",
        )),
        (None, Some(Fault::NoList | Fault::Rights)) => Some((
            "lies in a folder in which other accounts may replace it",
            "take that away with icacls on the folder, or in its properties under Security",
        )),
    }
}

/// Trusts every file: the rules of other systems are not known.
#[cfg(not(any(unix, windows)))]
pub(crate) fn distrust(_: &Path, _: &Metadata) -> Option<(&'static str, &'static str)> {
    None
}

/// What identifies a state of the file, to detect a change.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Seen {
    Missing,
    There { len: u64, modified: Option<SystemTime>, inode: u64, changed: (i64, i64) },
    Unreadable(io::ErrorKind),
}

impl Seen {
    fn at(path: &Path) -> Self {
        match fs::metadata(path) {
            Ok(metadata) => {
                let (inode, changed) = identity(&metadata);
                Self::There {
                    len: metadata.len(),
                    modified: metadata.modified().ok(),
                    inode,
                    changed,
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Self::Missing,
            Err(error) => Self::Unreadable(error.kind()),
        }
    }
}

/// Returns the inode and its change time, which also covers permissions.
#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, (i64, i64)) {
    use std::os::unix::fs::MetadataExt;
    (metadata.ino(), (metadata.ctime(), metadata.ctime_nsec()))
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, (i64, i64)) {
    (0, (0, 0))
}

/// The content of the file after a change.
#[derive(Debug)]
pub enum Found {
    /// Valid settings.
    Settings(Box<Settings>),
    /// The file is invalid or not trusted.
    Faulty(ConfigError),
    /// The file is missing.
    Gone,
}

/// The file that settings were read from.
#[derive(Debug, Clone)]
pub struct Source {
    path: PathBuf,
    state_dir: PathBuf,
    seen: Seen,
    every: Duration,
    still: Duration,
}

impl Source {
    /// Creates the source from the file's current state.
    pub(super) fn new(path: &Path, state_dir: &Path) -> Self {
        let (path, state_dir) = (path.to_owned(), state_dir.to_owned());
        Self {
            seen: Seen::at(&path),
            path,
            state_dir,
            every: CHECK_INTERVAL,
            still: SETTLE_INTERVAL,
        }
    }

    /// Returns the path of the file.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Waits until the file changes, and reads it. The disk is read in blocking tasks, because it may hang.
    pub async fn changed(&mut self) -> Found {
        loop {
            sleep(self.every).await;
            let mut now = self.stat().await;
            if now == self.seen {
                continue;
            }
            for _ in 0..MAX_SETTLE_CHECKS {
                sleep(self.still).await;
                let then = std::mem::replace(&mut now, self.stat().await);
                if then == now {
                    break;
                }
            }
            if now != self.seen {
                self.seen = now;
                return self.load().await;
            }
        }
    }

    async fn stat(&self) -> Seen {
        let path = self.path.clone();
        let looked = tokio::task::spawn_blocking(move || Seen::at(&path)).await;
        // The task fails only when the program ends.
        looked.unwrap_or_else(|_| self.seen.clone())
    }

    async fn load(&self) -> Found {
        let (path, state_dir) = (self.path.clone(), self.state_dir.clone());
        let load = move || Settings::load(&path, Required::Yes, &state_dir);
        match tokio::task::spawn_blocking(load).await {
            Ok(Ok(settings)) => Found::Settings(Box::new(settings)),
            Ok(Err(error)) if error.is_missing() => Found::Gone,
            Ok(Err(error)) => Found::Faulty(error),
            Err(_) => Found::Gone,
        }
    }
}

#[cfg(test)]
mod tests;
