//! Why a service cannot be installed or removed.

use std::io;
use std::path::{Path, PathBuf};

#[cfg(any(target_os = "linux", target_os = "macos"))]
use crate::process::SystemProgramError;
use crate::state::StateError;

/// Why a service cannot be installed or removed.
#[derive(Debug, thiserror::Error)]
pub enum ServiceError {
    /// Another service manager, or none.
    #[cfg(target_os = "linux")]
    #[error(
        "this system has no systemctl; let its own service manager run `orion-agent run`, or name the program with --systemctl"
    )]
    NoSystemd,
    /// There is no launchctl.
    #[cfg(target_os = "macos")]
    #[error("this system has no launchctl; let its own service manager run `orion-agent run`")]
    NoLaunchd,
    /// launchd keeps the service.
    #[cfg(any(target_os = "macos", all(test, target_os = "linux")))]
    #[error("launchd does not stop the service orion-agent; end its process, and run this again")]
    NotUnloaded,
    /// The account of the system's service is missing.
    #[cfg(target_os = "macos")]
    #[error(
        "there is no account _orion-agent, which the service would run under; make it as docs/macos.md says, or run this without --system for a service of your own"
    )]
    NoAccount,
    /// A service of the system needs root, or on Windows an administrator.
    #[cfg_attr(
        unix,
        error(
            "a service of the system needs root; run this with sudo, or without --system for a service of your own"
        )
    )]
    #[cfg_attr(
        windows,
        error(
            "a service of the system needs an administrator; run this in a terminal that was opened as administrator, or without --system for a service of your own"
        )
    )]
    NeedsRoot,
    /// Root asked for a service of a person.
    #[cfg(unix)]
    #[error(
        "root has no desktop that a service of a person would serve; run this as that person, or with --system"
    )]
    NeedsPerson,
    /// The home folder is not known.
    #[cfg_attr(unix, error("no home folder is known; set HOME"))]
    #[cfg_attr(
        windows,
        error("Windows does not say where programs are kept; repair this account's profile")
    )]
    NoHome,
    /// A path cannot be written into a unit.
    #[error("{path} has characters that the command of a service cannot contain; use another folder", path = path.display())]
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
    /// systemd, launchd or a tool for accounts failed.
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    #[error("{0}; correct it and run this again")]
    Program(#[from] SystemProgramError),
    /// The registry or the Service Control Manager failed.
    #[cfg(windows)]
    #[error("{what}: {why}; correct it and run this again")]
    Windows {
        /// What was asked for.
        what: &'static str,
        /// Why it was not done.
        why: String,
    },
    /// The command is longer than Windows starts one at sign-in.
    #[cfg(windows)]
    #[error(
        "the command that Windows would run at sign-in has {length} characters, and may have {max}; use the usual folders, or ones with shorter names"
    )]
    TooLong {
        /// The length of the command, in characters.
        length: usize,
        /// The most.
        max: usize,
    },
    /// An agent does not end.
    #[cfg(windows)]
    #[error(
        "the agent does not stop (process {pid}); end it in the Task Manager, and run this again"
    )]
    NotStopped {
        /// The process.
        pid: u32,
    },
    /// The state is in use, or cannot be read.
    #[error(transparent)]
    State(#[from] StateError),
    /// A folder that is to be removed has no agent's state.
    #[error(
        "{path} holds no state of an agent, so nothing was removed; check --state-dir, or leave out --purge",
        path = path.display()
    )]
    NotState {
        /// The folder.
        path: PathBuf,
    },
    /// An agent that was started by hand uses the state that is to be removed.
    #[error(
        "an orion-agent is using {path}, so nothing was removed, and a service is stopped only; end that agent, and run this again",
        path = path.display()
    )]
    InUse {
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
