//! Where the parts of a service are.

use std::path::{Path, PathBuf};

use super::ServiceError;

/// The name of the unit.
pub(super) const UNIT: &str = "orion-agent.service";
/// The name of the program.
const PROGRAM: &str = "orion-agent";
/// The account of the system's service.
pub(super) const ACCOUNT: &str = "orion-agent";

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
    /// The unit.
    pub unit: PathBuf,
    /// Where the program is copied to, unless a package keeps it.
    pub program: PathBuf,
    /// The agent's state.
    pub state_dir: PathBuf,
    /// The owner's file.
    pub config: PathBuf,
}

/// Returns the owner's file and the state folder of the system's service.
#[must_use]
pub fn system_locations() -> (PathBuf, PathBuf) {
    (PathBuf::from("/etc/orion/agent.toml"), PathBuf::from("/var/lib/orion-agent"))
}

impl Layout {
    /// Returns the places for an agent with this state and this owner's file.
    ///
    /// # Errors
    /// [`ServiceError`] where this account has no such service.
    pub fn new(owner: Owner, state_dir: &Path, config: &Path) -> Result<Self, ServiceError> {
        let is_root = rustix::process::geteuid().is_root();
        let absolute = |path: &Path| std::path::absolute(path).map_err(ServiceError::at(path));
        let (unit, program) = match (owner, is_root) {
            (Owner::System, false) => return Err(ServiceError::NeedsRoot),
            (Owner::Person, true) => return Err(ServiceError::NeedsPerson),
            (Owner::System, true) => {
                (PathBuf::from("/etc/systemd/system"), PathBuf::from("/usr/local/bin"))
            }
            (Owner::Person, false) => {
                let base = directories::BaseDirs::new().ok_or(ServiceError::NoHome)?;
                let programs = base.executable_dir().ok_or(ServiceError::NoHome)?.to_owned();
                (base.config_dir().join("systemd/user"), programs)
            }
        };
        Ok(Self {
            owner,
            unit: unit.join(UNIT),
            program: program.join(PROGRAM),
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
