//! Errors of the state directory.

use std::io;
use std::path::PathBuf;

use orion_mtls::MtlsError;
use orion_mtls::secret_file::SecretFileError;

/// Why the state cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// Another agent runs with this directory.
    #[error(
        "another orion-agent is using {path}; if it is an `enroll`, wait until it has ended, else stop it, or give this one a directory of its own with --state-dir",
        path = path.display()
    )]
    Busy {
        /// The directory.
        path: PathBuf,
    },
    /// Other users may read the directory.
    #[error(
        "{path} is open to other users (mode {mode:04o}) and would hold this device's key; run `chmod 700` on it if it is the agent's, or choose another with --state-dir",
        path = path.display()
    )]
    TooOpen {
        /// The directory.
        path: PathBuf,
        /// Its permission bits.
        mode: u32,
    },
    /// Other accounts of Windows may use the directory.
    #[error(
        "{path} {why} and would hold this device's key; {fix} if it is the agent's, or choose another with --state-dir",
        path = path.display()
    )]
    NotPrivate {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        why: &'static str,
        /// What to do.
        fix: &'static str,
    },
    /// A file in the directory has invalid content.
    #[error("{path} is damaged; enrol this device again with a new token and --force", path = path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("{path} can't be used: {source}", path = path.display())]
    Io {
        /// The file or directory.
        path: PathBuf,
        /// The operating system's error.
        source: io::Error,
    },
    /// A secret cannot be read or written.
    #[error(transparent)]
    Secret(#[from] SecretFileError),
    /// Key and certificate do not match, or are invalid.
    #[error("this device's identity can't be used: {0}; enrol it again with --force")]
    Identity(#[from] MtlsError),
}
