//! Why a configuration cannot be used, with the key that was probably meant.

use std::net::SocketAddr;
use std::path::PathBuf;

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: cannot be read: {error}", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The file is not valid TOML, or has an unknown key or a wrong value.
    #[error("{path}: {message}{hint}", path = path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        message: String,
        /// The nearest key. Empty if none is near.
        hint: String,
    },
    /// Others could read the connection.
    #[error(
        "[people] listen = \"{0}\" can be reached from other machines, so it needs TLS: set `tls = \"own\"` for a certificate that Orion makes, or `certificate` and `key`, or `insecure = true` if something in front of it does TLS"
    )]
    NeedsTls(SocketAddr),
    /// Only one of certificate and key is set.
    #[error("[people] `certificate` and `key` go together; one of them is missing")]
    HalfTls,
    /// Both certificates are set.
    #[error(
        "[people] `tls = \"own\"` makes a certificate, and `certificate` and `key` name another; set one of the two"
    )]
    TwoCertificates,
    /// An artifact cannot be used.
    #[error("[artifacts.{name}]: {problem}")]
    Artifact {
        /// The name of the artifact.
        name: String,
        /// What is wrong and what to write.
        problem: &'static str,
    },
    /// A number is out of its range.
    #[error("[{section}] {key} must be between {least} and {most}")]
    OutOfRange {
        /// The section.
        section: &'static str,
        /// The key.
        key: &'static str,
        /// The smallest value.
        least: u32,
        /// The largest value.
        most: u32,
    },
}

/// Returns the key that was probably meant. The message quotes the unknown key first and then the known
/// ones.
pub(super) fn nearest_key(message: &str) -> String {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let (Some(unknown), true) = (quoted.next(), message.contains("unknown field")) else {
        return String::new();
    };
    quoted
        .map(|known| (strsim::jaro_winkler(unknown, known), known))
        .filter(|(score, _)| *score > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| format!("\nDid you mean `{known}`?"))
        .unwrap_or_default()
}
