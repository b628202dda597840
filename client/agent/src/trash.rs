//! Orion's own trash on the device: for a week, what file calls changed lies here, with what is needed
//! to take it back.
//!
//! Each call has a folder of its own, named by its id, with its [record](crate::changes) and with
//! what it replaced or deleted. What lies on another file system stays there, in a hidden folder of
//! the allowed path; records are never read from there. Not the desktop's trash: that one may be
//! emptied, searched or synchronised by others.

mod sweep;
#[cfg(test)]
mod tests;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use cap_fs_ext::DirExt;
use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder};
use orion_domain::CallId;

use crate::roots::LOCAL_TRASH;

pub use sweep::Swept;

/// What the folder of a call is called, after its id, until the call is over.
const OPEN: &str = ".open";
/// How much may come in before the trash is looked through out of turn, in bytes and in calls.
const DUE_BYTES: u64 = 256 * 1024 * 1024;
const DUE_CALLS: u64 = 2_000;

/// The trash in the agent's state folder.
#[derive(Debug)]
pub struct Trash {
    dir: Dir,
    path: PathBuf,
    /// Calls that an earlier run of the agent did not end.
    unsettled: Mutex<Vec<CallId>>,
    /// What came in since the trash was last looked through.
    bytes: AtomicU64,
    calls: AtomicU64,
}

impl Trash {
    /// The trash in `<state>/trash`, made if it is missing, for nobody but the agent's account.
    ///
    /// # Errors
    /// What the file system says.
    pub fn open(state: &Path) -> io::Result<Self> {
        let dir = private_dir(&Dir::open_ambient_dir(state, ambient_authority())?, "trash")?;
        let mut unsettled = Vec::new();
        for entry in dir.entries()? {
            let name = entry?.file_name();
            let call = name.to_str().and_then(|name| name.strip_suffix(OPEN));
            unsettled.extend(call.and_then(|call| call.parse::<CallId>().ok()));
        }
        Ok(Self {
            dir,
            path: state.join("trash"),
            unsettled: Mutex::new(unsettled),
            bytes: AtomicU64::new(0),
            calls: AtomicU64::new(0),
        })
    }

    /// The folder itself, for the second layer, which lets tools move things there.
    pub(crate) fn dir(&self) -> &Dir {
        &self.dir
    }

    /// Where it is, as people read it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the folder of a call that begins. A call begins once.
    pub(crate) fn begin(&self, call: CallId) -> io::Result<Dir> {
        if self.find(call)?.is_some() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let name = open_name(call);
        self.dir.create_dir_with(&name, &private())?;
        self.dir.open_dir_nofollow(&name)
    }

    /// The call is over: what it did stays until it is taken back, and `bytes` lie here for it.
    /// Whether it is time to look through the trash.
    pub(crate) fn end(&self, call: CallId, bytes: u64) -> bool {
        if let Err(error) = self.dir.rename(open_name(call), &self.dir, call.to_string()) {
            // The next start finds the call as it is and ends it then.
            tracing::warn!(%call, kind = %error.kind(), "the record of a call could not be closed");
        }
        let bytes = self.bytes.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let calls = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
        bytes >= DUE_BYTES || calls >= DUE_CALLS
    }

    /// The folder of a call, and whether the call is not over.
    pub(crate) fn find(&self, call: CallId) -> io::Result<Option<(Dir, bool)>> {
        for (name, open) in [(call.to_string(), false), (open_name(call), true)] {
            match self.dir.open_dir_nofollow(&name) {
                Ok(dir) => return Ok(Some((dir, open))),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Removes the folder of a call, with what is in it.
    pub(crate) fn forget(&self, call: CallId) -> io::Result<()> {
        for name in [call.to_string(), open_name(call)] {
            match self.dir.remove_dir_all(&name) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Calls that an earlier run of the agent did not end.
    pub(crate) fn unsettled(&self) -> Vec<CallId> {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// What such a call left behind is cleaned up.
    pub(crate) fn settled(&self, call: CallId) {
        self.unsettled.lock().unwrap_or_else(PoisonError::into_inner).retain(|it| *it != call);
    }
}

fn open_name(call: CallId) -> String {
    format!("{call}{OPEN}")
}

/// The hidden folder in an allowed path for what cannot be moved to another file system, made if it is
/// missing. None where something else has its name, or where others may look or write into it: then
/// it is not Orion's.
pub(crate) fn local(folder: &Dir) -> io::Result<Option<Dir>> {
    let is_new = folder.symlink_metadata(LOCAL_TRASH).is_err();
    let dir = match private_dir(folder, LOCAL_TRASH) {
        Err(error) if error.kind() == io::ErrorKind::NotADirectory || is_link(&error) => {
            return Ok(None);
        }
        other => other?,
    };
    if is_private(&dir)? {
        return Ok(Some(dir));
    }
    if is_new {
        // On a file system that knows no private folders it would be litter.
        let _ = folder.remove_dir(LOCAL_TRASH);
    }
    Ok(None)
}

/// The same, where it is there already.
pub(crate) fn local_if_there(folder: &Dir) -> Option<Dir> {
    let dir = folder.open_dir_nofollow(LOCAL_TRASH).ok()?;
    is_private(&dir).is_ok_and(|it| it).then_some(dir)
}

#[cfg(unix)]
fn is_link(error: &io::Error) -> bool {
    error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}

#[cfg(not(unix))]
fn is_link(_: &io::Error) -> bool {
    false
}

#[cfg(unix)]
fn is_private(dir: &Dir) -> io::Result<bool> {
    use cap_fs_ext::OsMetadataExt;
    let metadata = dir.dir_metadata()?;
    let own = metadata.uid() == rustix::process::geteuid().as_raw();
    Ok(own && metadata.mode() & 0o077 == 0)
}

#[cfg(not(unix))]
#[expect(clippy::unnecessary_wraps, reason = "the same as on Unix, where it is asked")]
fn is_private(_: &Dir) -> io::Result<bool> {
    Ok(true)
}

/// Opens a folder for the agent's account alone, making it if it is missing.
pub(crate) fn private_dir(parent: &Dir, name: &str) -> io::Result<Dir> {
    match parent.create_dir_with(name, &private()) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    parent.open_dir_nofollow(name)
}

fn private() -> DirBuilder {
    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has a mode to set"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    {
        use cap_std::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder
}
