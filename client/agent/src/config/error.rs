//! Errors of `agent.toml`.

use std::io;
use std::path::PathBuf;

impl ConfigError {
    /// Returns whether the file is missing.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Read { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}

/// Why the configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read or written.
    #[error("{path} can't be used: {source}; check the path, and who may read it", path = path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// Not a file, or larger than any configuration.
    #[error("{path} is not a file of at most 1 MiB, so it is not the agent's configuration", path = path.display())]
    NotAFile {
        /// The file.
        path: PathBuf,
    },
    /// Another account may write the file, so its content may not be the owner's.
    #[error("{path} {why}, so its text may not be the owner's: {fix}", path = path.display())]
    NotTheOwners {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
        /// What to do.
        fix: &'static str,
    },
    /// A first file was to be written, and the file exists.
    #[error("{path} exists, and what its owner wrote is not changed here; {fix}", path = path.display())]
    Exists {
        /// The file.
        path: PathBuf,
        /// What to do.
        fix: String,
    },
    /// The content is invalid.
    #[error("{path}: {fault}; `orion-agent --config {path} ceiling check` shows everything that is wrong with it", path = path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The fault, with its line and a suggestion if there is one.
        fault: String,
    },
}
