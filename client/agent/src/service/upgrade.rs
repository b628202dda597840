//! Puts a release in the place of the service's program, and goes back if the new program does not connect.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use semver::Version;

use super::files::Staging;
use super::install::PROGRAM_MODE;
use super::interrupted::{
    begin_upgrade, end_upgrade, forget_previous, is_upgrading, restore_previous,
};
use super::release::{Release, ReleaseError, current};
use super::running::{connected_to, connects, is_same_file};
use super::{Layout, ServiceError, Systemd, unit};
use crate::clock::now_ms;
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
    #[error("this is not the program of the service; run that one: {program} upgrade", program = program.display())]
    OtherProgram {
        /// The program.
        program: PathBuf,
    },
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

/// Upgrades the service's program. Calls under way end as at a stop of the agent: the journal knows them, and none is
/// lost or made again.
///
/// # Errors
/// [`UpgradeError`].
pub async fn upgrade(
    layout: &Layout,
    systemd: &Systemd,
    release: &Release,
) -> Result<(), UpgradeError> {
    let (_lock, text) = lock(layout)?;
    if !unit::has_copied(&text) {
        return Err(UpgradeError::Packaged { program: layout.program.clone() });
    }
    if !is_same_file(Path::new("/proc/self/exe"), &layout.program) {
        return Err(UpgradeError::OtherProgram { program: layout.program.clone() });
    }
    if connected_to(layout, &layout.program, 0).is_none() {
        return Err(UpgradeError::NotConnected);
    }
    let mut staging = Staging::begin(&layout.program, PROGRAM_MODE)?;
    let (file, path) = staging.parts();
    release.write_to(file, path).await?;
    let staged = staging.close()?;
    refuse_unfit(staged.staged_at(), release.version()).await?;
    begin_upgrade(&layout.program)?;
    let placed = match staged.place() {
        Ok(placed) => placed,
        Err(error) => {
            end_upgrade(&layout.program)?;
            return Err(error.into());
        }
    };
    let started_at = now_ms();
    let started = systemd.restart().await.map_err(|error| error.to_string());
    let why = match started {
        Ok(())
            if connects(layout, &layout.program, started_at, CONNECT_TIMEOUT).await.is_some() =>
        {
            placed.keep();
            return Ok(end_upgrade(&layout.program)?);
        }
        Ok(()) => format!("did not connect within {} seconds", CONNECT_TIMEOUT.as_secs()),
        Err(error) => format!("does not start ({error})"),
    };
    let version = release.version().clone();
    let started_at = now_ms();
    let back = match placed.undo() {
        Ok(()) => systemd.restart().await.map_err(ServiceError::from),
        Err(error) => Err(error),
    };
    if let Err(error) = back {
        return Err(UpgradeError::Stuck { version, error });
    }
    end_upgrade(&layout.program)?;
    let again = if connects(layout, &layout.program, started_at, CONNECT_TIMEOUT).await.is_some() {
        "runs again"
    } else {
        "was started again and is not connected yet"
    };
    Err(UpgradeError::WentBack { version, current: current(), why, again })
}

/// Keeps other upgrades out while the file is open. Returns the text of the unit too.
fn lock(layout: &Layout) -> Result<(fs::File, String), UpgradeError> {
    let mut unit = fs::File::open(&layout.unit).map_err(|_| UpgradeError::NotInstalled)?;
    match unit.try_lock() {
        Ok(()) => {}
        Err(fs::TryLockError::WouldBlock) => return Err(UpgradeError::UnderWay),
        Err(fs::TryLockError::Error(source)) => {
            return Err(ServiceError::at(&layout.unit)(source).into());
        }
    }
    let mut text = String::new();
    unit.read_to_string(&mut text).map_err(ServiceError::at(&layout.unit))?;
    Ok((unit, text))
}

/// Ends an upgrade that was cut off: goes back to the program from before, unless the new one is connected. Returns
/// whether it went back.
///
/// # Errors
/// [`UpgradeError`].
pub async fn settle_interrupted(layout: &Layout, systemd: &Systemd) -> Result<bool, UpgradeError> {
    let (_lock, _) = lock(layout)?;
    let program = &layout.program;
    if !is_upgrading(program) {
        return Ok(false);
    }
    let is_back = if connected_to(layout, program, 0).is_some() {
        forget_previous(program)?;
        false
    } else {
        restore_previous(program)?
    };
    if is_back {
        systemd.restart().await.map_err(ServiceError::from)?;
    }
    end_upgrade(program)?;
    Ok(is_back)
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
