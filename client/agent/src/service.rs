//! The agent as a service: of one person, or of the system. [`install`] puts the program and its unit in place and starts
//! it; [`uninstall`] stops it and removes what `install` made. On Linux the manager of services is systemd; on Windows, the
//! registry starts a person's agent at sign-in, and the Service Control Manager starts the system's; on macOS it is launchd.
//! [`upgrade`] puts a signed release in the place of the program, and goes back if the new one does not work.

#[cfg(unix)]
mod account;
#[cfg(any(windows, test))]
mod command_line;
mod error;
mod files;
mod install;
mod interrupted;
#[cfg(any(target_os = "macos", all(test, target_os = "linux")))]
mod job;
#[cfg(any(target_os = "macos", all(test, target_os = "linux")))]
mod launchd;
mod layout;
mod release;
mod running;
#[cfg(target_os = "linux")]
mod systemd;
mod trusted_comment;
mod uninstall;
#[cfg(target_os = "linux")]
mod unit;
mod upgrade;
#[cfg(windows)]
mod windows;

#[cfg(any(target_os = "linux", target_os = "macos"))]
pub use account::{give_to_owner, keep_for_root};
pub use error::ServiceError;
pub use install::{Installed, install};
#[cfg(target_os = "macos")]
pub use launchd::Launchd;
pub use layout::{Layout, Owner, system_locations};
pub use release::{Release, ReleaseError};
pub use running::{Connection, connects};
#[cfg(target_os = "linux")]
pub use systemd::Systemd;
pub use uninstall::{Purge, Removed, StateFolder, uninstall};
pub use upgrade::{UpgradeError, settle_interrupted, upgrade};
#[cfg(windows)]
pub use windows::{Manager, RunAs, launch, serve, stop_asked};

/// The manager of services.
#[cfg(target_os = "linux")]
pub type Manager = Systemd;
/// The manager of services.
#[cfg(target_os = "macos")]
pub type Manager = Launchd;

#[cfg(unix)]
use files::Placed as PlacedUnit;
#[cfg(target_os = "macos")]
use launchd::Job as Unit;
#[cfg(target_os = "linux")]
use unit::Unit;
#[cfg(windows)]
use windows::{PlacedUnit, Unit, account};

/// What the manager knows of a service that is installed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Earlier {
    /// Whether `install` copied its program.
    has_copied: bool,
}
