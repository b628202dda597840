//! What can be wrong with `agent.toml`.

use std::io;
use std::path::PathBuf;

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
