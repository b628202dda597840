//! Puts a release in the place of the service's program, and goes back if the new program does not connect.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use semver::Version;

use super::files::Staging;
use super::install::PROGRAM_MODE;
use super::interrupted::{
    begin_upgrade, end_upgrade, forget_previous, has_previous, restore_previous, upgrading_since,
};
use super::release::{Release, ReleaseError, current};
use super::running::{Connection, connected_to, connects, is_this_program};
use super::{Earlier, Layout, Manager, ServiceError};
use crate::clock::now_ms;
#[cfg(windows)]
use crate::config::files_of_an_upgrade;
use crate::process::SystemProgram;

/// How long the new program has to connect.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Why the agent was not upgraded. The program from before runs.
#[derive(Debug, thiserror::Error)]
pub enum UpgradeError {
    /// There is no release that may be installed.
    #[error(transparent)]
    Release(#[from] ReleaseError),
    /// The service cannot be changed.
    #[error(transparent)]
    Service(#[from] ServiceError),
    /// There is no service.
    #[error("no service of an agent is installed here; install it first with: orion-agent install")]
    NotInstalled,
    /// Another program is the service's.
    #[error("{program} belongs to a package, which upgrades it; nothing was changed", program = program.display())]
    Packaged {
        /// The program.
        program: PathBuf,
    },
    /// This program is not the service's, so that its version says nothing of that one's.
    #[cfg_attr(unix, error("this is not the program of the service; run that one: {program} upgrade", program = program.display()))]
    #[cfg_attr(windows, error("this is not the program of the service; run that one: \"{program}\" upgrade", program = program.display()))]
    OtherProgram {
        /// The program.
        program: PathBuf,
    },
    /// The new program would be started with other files.
    #[cfg(windows)]
    #[error(
        "the agent was installed with other options; run this with the same --state-dir and --config as `orion-agent install`"
    )]
    OtherOptions,
    /// Another command changes the program.
    #[error("another upgrade is under way; wait for its end")]
    UnderWay,
    /// Whether the new program works could not be seen.
    #[error(
        "the service is not connected, so that nobody would see whether the new program works; see `orion-agent status`, and upgrade when it is connected"
    )]
    NotConnected,
    /// The new program does not run on this device, or is not what its signature says.
    #[error("the new program {why}; nothing was changed")]
    Unfit {
        /// Why, as the end of a sentence.
        why: String,
    },
    /// The new program did not connect.
    #[error("version {version} {why}; version {current} {again}")]
    WentBack {
        /// The version of the release.
        version: Version,
        /// The version of this program.
        current: Version,
        /// Why, as the end of a sentence.
        why: String,
        /// What the one from before does.
        again: &'static str,
    },
    /// The new program did not connect, and the one from before could not be started.
    #[error(
        "version {version} did not work, and the program from before could not be put back and started: {error}"
    )]
    Stuck {
        /// The version of the release.
        version: Version,
        /// Why.
        error: ServiceError,
    },
}

/// Upgrades the service's program. `announce` runs once nothing speaks against it, before it is changed. Calls under way
/// end as at a stop of the agent: the journal knows them, and none is lost or made again.
///
/// # Errors
/// [`UpgradeError`].
pub async fn upgrade(
    layout: &Layout,
    manager: &Manager,
    release: &Release,
    announce: impl FnOnce(),
) -> Result<(), UpgradeError> {
    let (_lock, Earlier { has_copied }) = lock(layout, manager)?;
    if !has_copied {
        return Err(UpgradeError::Packaged { program: layout.program.clone() });
    }
    if !is_this_program(&layout.program) {
        return Err(UpgradeError::OtherProgram { program: layout.program.clone() });
    }
    #[cfg(windows)]
    if !manager.is_of(layout)? {
        return Err(UpgradeError::OtherOptions);
    }
    if connected_to(layout, &layout.program, 0).is_none() {
        return Err(UpgradeError::NotConnected);
    }
    let mut staging = Staging::begin(&layout.program, PROGRAM_MODE)?;
    let (file, path) = staging.parts();
    release.write_to(file, path).await?;
    let staged = staging.close()?;
    refuse_unfit(staged.staged_at(), release.version()).await?;
    // What an earlier upgrade has left is not what this one would go back to.
    forget_previous(&layout.program)?;
    begin_upgrade(&layout.program)?;
    announce();
    let placed = match staged.place() {
        Ok(placed) => placed,
        Err(error) => {
            if layout.program.exists() {
                end_upgrade(&layout.program)?;
            }
            return Err(error.into());
        }
    };
    let started_at = now_ms();
    let started = manager.restart(layout).await.map_err(|error| error.to_string());
    let why = match started {
        Ok(()) => match connects(layout, &layout.program, started_at, CONNECT_TIMEOUT).await {
            Connection::Connected(_) => {
                placed.keep();
                return Ok(end_upgrade(&layout.program)?);
            }
            Connection::Refused(why) => format!("cannot connect ({why})"),
            Connection::NotYet(_) => {
                format!("did not connect within {} seconds", CONNECT_TIMEOUT.as_secs())
            }
        },
        Err(error) => format!("does not start ({error})"),
    };
    let version = release.version().clone();
    let started_at = now_ms();
    let go_back = async {
        // Where the new program does not end, it is put aside.
        drop(manager.make_way(layout).await);
        placed.undo()?;
        manager.restart(layout).await
    };
    if let Err(error) = go_back.await {
        return Err(UpgradeError::Stuck { version, error });
    }
    end_upgrade(&layout.program)?;
    let again =
        if connects(layout, &layout.program, started_at, CONNECT_TIMEOUT).await.is_connected() {
            "runs again"
        } else {
            "was started again and is not connected yet"
        };
    Err(UpgradeError::WentBack { version, current: current(), why, again })
}

/// Keeps other upgrades out while the file is open. Returns what is installed too.
fn lock(layout: &Layout, manager: &Manager) -> Result<(fs::File, Earlier), UpgradeError> {
    let earlier = || manager.earlier(layout)?.ok_or(UpgradeError::NotInstalled);
    earlier()?;
    let lock = open_lock(layout)?;
    // What was installed before the lock may be gone.
    Ok((lock, earlier()?))
}

/// Locks a file: the unit or, on Windows, which has no file for it, one beside the program.
fn open_lock(layout: &Layout) -> Result<fs::File, UpgradeError> {
    #[cfg(unix)]
    let (path, opened) = (&layout.unit, fs::File::open(&layout.unit));
    #[cfg(windows)]
    let [.., path] = &files_of_an_upgrade(&layout.program);
    #[cfg(windows)]
    let opened = fs::OpenOptions::new().write(true).create(true).truncate(false).open(path);
    let file = opened.map_err(ServiceError::at(path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(UpgradeError::UnderWay),
        Err(fs::TryLockError::Error(source)) => Err(ServiceError::at(path)(source).into()),
    }
}

/// Ends an upgrade that was cut off: goes back to the program from before, unless the new one is connected. Returns
/// whether it went back.
///
/// # Errors
/// [`UpgradeError`].
pub async fn settle_interrupted(layout: &Layout, manager: &Manager) -> Result<bool, UpgradeError> {
    let (_lock, _) = lock(layout, manager)?;
    let program = &layout.program;
    let Some(began_at) = upgrading_since(program) else { return Ok(false) };
    let goes_back = has_previous(program) && connected_to(layout, program, began_at).is_none();
    if goes_back {
        // Where the new program does not end, it is put aside.
        drop(manager.make_way(layout).await);
        let restored = restore_previous(program);
        let restarted = manager.restart(layout).await;
        restored?;
        restarted?;
    } else {
        // Windows does not remove it where it is this program; the next upgrade does.
        drop(forget_previous(program));
    }
    end_upgrade(program)?;
    Ok(goes_back)
}

/// Runs the program for its version. A program for another platform, or a broken one, ends here.
async fn refuse_unfit(program: &Path, version: &Version) -> Result<(), UpgradeError> {
    let said = SystemProgram::at(program.to_owned()).run(&["--version"]).await;
    match said {
        Ok(said) if said.trim() == format!("orion-agent {version}") => Ok(()),
        Ok(said) => {
            let said: String = said.trim().chars().take(100).collect();
            Err(UpgradeError::Unfit {
                why: format!("says that it is {said:?}, and is signed as version {version}"),
            })
        }
        Err(error) => Err(UpgradeError::Unfit { why: format!("does not run here: {error}") }),
    }
}
