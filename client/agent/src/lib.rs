//! Orion's device agent: keeps one connection to the backend, evaluates each call by the ceiling that
//! only this device's owner can change, runs allowed calls, and reports the results.
//!
//! Start reading at [`run()`](run::run), then [`agent`], the event loop. A call goes through [`guard`],
//! [`journal`], [`execute`] and [`report`], in that order; [`sandbox`] and [`roots`] are the two layers
//! that confine a file tool.

mod access;
pub mod activity;
pub mod agent;
pub mod apps;
pub mod call;
pub mod chain;
pub mod changes;
pub mod clock;
pub mod config;
pub mod connect;
pub mod consent;
mod coordination;
pub mod custom;
pub mod enroll;
mod entry;
pub mod execute;
pub mod facts;
pub mod guard;
pub mod journal;
mod observe;
mod owner_file;
pub mod pause;
mod perform;
pub mod process;
#[cfg(target_os = "linux")]
pub mod programs;
#[cfg(not(target_os = "linux"))]
#[path = "programs/none.rs"]
pub mod programs;
mod record;
pub mod report;
pub mod roots;
pub mod run;
pub mod sandbox;
mod scan;
#[cfg(any(target_os = "linux", target_os = "macos", windows))]
pub mod service;
pub mod state;
mod survey;
#[cfg(windows)]
mod toast;
pub mod tools;
pub mod transfer;
pub mod trash;
pub mod verdict;
mod walk;
#[cfg(target_os = "linux")]
pub mod workers;

pub use config::Config;
pub use run::run;

/// The version of this program.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
