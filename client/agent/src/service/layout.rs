//! Where the parts of a service are.

use std::path::{Path, PathBuf};

use super::ServiceError;

/// The name of the unit.
#[cfg(target_os = "linux")]
pub(super) const UNIT: &str = "orion-agent.service";
/// The name of the program.
#[cfg(target_os = "linux")]
const PROGRAM: &str = "orion-agent";
/// The account of the system's service.
#[cfg(target_os = "linux")]
pub(super) const ACCOUNT: &str = "orion-agent";
#[cfg(target_os = "macos")]
pub(super) use super::job::ACCOUNT;

/// Whose service it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner {
    /// One person's: it starts with the person's session and sees the desktop.
    Person,
    /// The system's: it starts with the machine, under an account of its own.
    System,
}

/// Where the parts of a service are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Whose service it is.
    pub owner: Owner,
    /// The unit: a file, or on Windows the name under which the registry or the manager of services knows it.
    pub unit: PathBuf,
    /// Where the program is copied to, unless a package keeps it.
    pub program: PathBuf,
    /// The agent's state.
    pub state_dir: PathBuf,
    /// The owner's file.
    pub config: PathBuf,
}

/// Returns the owner's file and the state folder of the system's service. None where the system does not say them.
#[must_use]
pub fn system_locations() -> Option<(PathBuf, PathBuf)> {
    #[cfg(target_os = "linux")]
    return Some((PathBuf::from("/etc/orion/agent.toml"), PathBuf::from("/var/lib/orion-agent")));
    #[cfg(target_os = "macos")]
    return Some(super::job::system_locations());
    #[cfg(windows)]
    super::windows::system_locations()
}

impl Layout {
    /// Returns the places for an agent with this state and this owner's file.
    ///
    /// # Errors
    /// [`ServiceError`] where this account has no such service.
    pub fn new(owner: Owner, state_dir: &Path, config: &Path) -> Result<Self, ServiceError> {
        let absolute = |path: &Path| std::path::absolute(path).map_err(ServiceError::at(path));
        let (unit, program) = places(owner)?;
        Ok(Self {
            owner,
            unit,
            program,
            state_dir: absolute(state_dir)?,
            config: absolute(config)?,
        })
    }

    /// Returns the program that the service runs where `current` is this one, and whether it is copied there. A package
    /// keeps its own, which an update of the package replaces.
    pub(super) fn program_of(&self, current: &Path) -> (PathBuf, bool) {
        let is_packaged = current.starts_with("/usr/bin") || current.starts_with("/nix/store");
        if is_packaged { (current.to_owned(), false) } else { (self.program.clone(), true) }
    }
}

/// Refuses an account that has no such service.
#[cfg(unix)]
fn refuse_other_accounts(owner: Owner) -> Result<(), ServiceError> {
    match (owner, rustix::process::geteuid().is_root()) {
        (Owner::System, false) => Err(ServiceError::NeedsRoot),
        (Owner::Person, true) => Err(ServiceError::NeedsPerson),
        (Owner::System, true) | (Owner::Person, false) => Ok(()),
    }
}

/// Returns the property list and the program.
#[cfg(target_os = "macos")]
fn places(owner: Owner) -> Result<(PathBuf, PathBuf), ServiceError> {
    refuse_other_accounts(owner)?;
    let base = directories::BaseDirs::new().ok_or(ServiceError::NoHome)?;
    Ok(super::job::places(owner, base.home_dir()))
}

/// Returns the unit and the program.
#[cfg(target_os = "linux")]
fn places(owner: Owner) -> Result<(PathBuf, PathBuf), ServiceError> {
    refuse_other_accounts(owner)?;
    let (unit, program) = match owner {
        Owner::System => (PathBuf::from("/etc/systemd/system"), PathBuf::from("/usr/local/bin")),
        Owner::Person => {
            let base = directories::BaseDirs::new().ok_or(ServiceError::NoHome)?;
            let programs = base.executable_dir().ok_or(ServiceError::NoHome)?.to_owned();
            (base.config_dir().join("systemd/user"), programs)
        }
    };
    Ok((unit.join(UNIT), program.join(PROGRAM)))
}

#[cfg(windows)]
use super::windows::places;
