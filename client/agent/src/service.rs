//! The agent as a service of systemd: of one person, or of the system. [`install`] puts the program and its unit in
//! place and starts it; [`uninstall`] stops it and removes what `install` made. [`upgrade`] puts a signed release in the
//! place of the program, and goes back if the new one does not work.

mod account;
mod error;
mod files;
mod install;
mod layout;
mod release;
mod running;
mod systemd;
mod uninstall;
mod unit;
mod upgrade;

pub use error::ServiceError;
pub use install::{Installed, install};
pub use layout::{Layout, Owner, system_locations};
pub use release::{Release, ReleaseError};
pub use running::connects;
pub use systemd::Systemd;
pub use uninstall::{Purge, Removed, uninstall};
pub use upgrade::{UpgradeError, settle_interrupted, upgrade};
