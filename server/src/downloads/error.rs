//! Why an agent cannot be added or served.

use std::io;
use std::path::{Path, PathBuf};

use super::Platform;

/// Why an agent cannot be added or served.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// A file cannot be read or written.
    #[error("{path}: {source}; check the name and its permissions", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
    /// The manifest is no manifest.
    #[error("{path} is not a manifest of releases: {why}; remove the folder, and add the agents again", path = path.display())]
    Manifest {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The file is no program that devices run.
    #[error("{path} is no program of a platform that Orion knows; build it with `make dist-agent`", path = path.display())]
    NoProgram {
        /// The file.
        path: PathBuf,
    },
    /// The version has letters that a version does not have.
    #[error("{0:?} is not a version; write one such as 0.1.0")]
    Version(String),
    /// The configuration asks for a signature.
    #[error("[downloads] public_key asks for a signature; sign {path} with minisign, and name the file with --signature", path = path.display())]
    NotSigned {
        /// The file.
        path: PathBuf,
    },
    /// There is no key to check a signature by.
    #[error(
        "no key is known that could have made this signature; name the backend's file with --config, and set `public_key` in its [downloads]"
    )]
    NoKey,
    /// The signature is not of this file and this key.
    #[error("{path} is not a signature of that file by the key in [downloads]: {why}; nothing was added", path = path.display())]
    Signature {
        /// The signature.
        path: PathBuf,
        /// What is wrong.
        why: String,
    },
    /// The file in the folder is not the one that was added.
    #[error("{path} is not the file that was added; add the agent again", path = path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// There is no such agent.
    #[error("there is no agent for {0}; `orion-server releases list` shows those that are served")]
    NoSuch(Platform),
}

impl ReleaseError {
    /// Returns a function that adds the path to an error of the system.
    pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { path, source }
    }
}
