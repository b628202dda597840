//! The agent as a service of systemd: of one person, or of the system. [`install`] puts the program and its unit in
//! place and starts it; [`uninstall`] stops it and removes what `install` made.

mod account;
mod error;
mod files;
mod install;
mod layout;
mod systemd;
mod uninstall;
mod unit;

pub use error::ServiceError;
pub use install::{Installed, install};
pub use layout::{Layout, Owner, system_locations};
pub use systemd::Systemd;
pub use uninstall::{Purge, Removed, uninstall};
