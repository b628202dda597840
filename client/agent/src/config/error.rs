//! What can be wrong with `agent.toml`.

use std::io;
use std::path::PathBuf;

impl ConfigError {
    /// Whether there is no file.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read or written.
    #[error("{path} can't be used: {source}", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// Not a file, or larger than any configuration.
    #[error("{path} is not a file of at most 1 MiB, so it is not the agent's configuration", path = path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// Somebody else may write it, so it may not be its owner who speaks.
    #[error("{path} {why}, so nobody can know whose word it is; {fix}", path = path.display())]
    NotTheOwners {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
        /// What to do.
        fix: &'static str,
    },
    /// A first file was to be written where there is one.
    #[error("{path} exists and is its owner's; add the path to its [ceiling] by hand", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The content says something that is not understood.
    #[error("{path}: {fault}", path = path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What, where, and what may be meant.
        fault: String,
    },
}
