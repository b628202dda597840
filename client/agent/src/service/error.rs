//! Why a service cannot be installed or removed.

use std::io;
use std::path::{Path, PathBuf};

use crate::process::SystemProgramError;
use crate::state::StateError;

/// Why a service cannot be installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Another service manager, or none.
    #[error(
        "this system has no systemctl; let its own service manager run `orion-agent run`, or name the program with --systemctl"
    )]
    NoSystemd,
    /// A service of the system needs root.
    #[error(
        "a service of the system needs root; run this with sudo, or without --system for a service of your own"
    )]
    NeedsRoot,
    /// Root asked for a service of a person.
    #[error(
        "root has no desktop that a service of a person would serve; run this as that person, or with --system"
    )]
    NeedsPerson,
    /// The home folder is not known.
    #[error("no home folder is known; set HOME")]
    NoHome,
    /// A path cannot be written into a unit.
    #[error("{path} has characters that a unit of systemd cannot contain; use another folder", path = path.display())]
    BadPath {
        /// The path.
        path: PathBuf,
    },
    /// Another account could replace what would be put there.
    #[error("{path} {why}, so nothing is put there; {fix}", path = path.display())]
    Distrusted {
        /// The folder.
        path: PathBuf,
        /// Why, as the end of a sentence.
        why: &'static str,
        /// What to do.
        fix: &'static str,
    },
    /// A file cannot be written or removed.
    #[error("{path}: {source}; correct it and run this again", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// systemd or a tool for accounts failed.
    #[error("{0}; correct it and run this again")]
    Program(#[from] SystemProgramError),
    /// The state is in use, or cannot be read.
    #[error(transparent)]
    State(#[from] StateError),
    /// A folder that is to be removed has no agent's state.
    #[error("{path} holds no state of an agent, so it is not removed; check --state-dir", path = path.display())]
    NotState {
        /// The folder.
        path: PathBuf,
    },
}

impl ServiceError {
    /// Returns a function that adds the path to an error of the operating system.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
