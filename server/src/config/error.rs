//! Why a configuration cannot be used, with the key that was probably meant.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// A configuration that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("the configuration {path} cannot be read: {error}; check the path, or leave out --config for the defaults", path = path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        error: std::io::Error,
    },
    /// The file is not valid TOML, or has an unknown key or a wrong value.
    #[error("{path} {message}; {step}", path = path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// What is wrong, with line and column.
        message: String,
        /// What to write instead.
        step: String,
    },
    /// Others could read the connection.
    #[error(
        "[people] listen = \"{0}\" can be reached from other machines, so it needs TLS; set `tls = \"own\"` for a certificate that Orion makes, or `certificate` and `key`, or `insecure = true` if something in front of it does TLS"
    )]
    NeedsTls(SocketAddr),
    /// Only one of certificate and key is set.
    #[error(
        "[people] `certificate` and `key` go together, and one of them is missing; set both, or none"
    )]
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
    /// What devices download cannot be served like this.
    #[error("[downloads] {0}")]
    Downloads(&'static str),
    /// Models, assistants and limits do not fit together.
    #[error("{0}")]
    Chat(String),
    /// A number is out of its range.
    #[error("[{section}] {key} is out of its range; write a number from {least} to {most}")]
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

impl ConfigError {
    /// Returns why the text of a file is not a configuration: the line with what is wrong there, and what to write.
    pub(super) fn invalid(path: &Path, text: &str, error: &toml::de::Error) -> Self {
        let said = error.message().replace("expected u32", "expected a whole number from 0 up");
        let message = match error.span() {
            Some(span) => {
                let before = text.get(..span.start).unwrap_or(text);
                let number = before.matches('\n').count() + 1;
                let line = text.lines().nth(number - 1).unwrap_or_default();
                format!("line {number}: {said}: `{}`", line.trim())
            }
            None => said.clone(),
        };
        Self::Invalid { path: path.to_owned(), message, step: step(&said) }
    }
}

/// Returns what to write in the place of what is wrong.
fn step(message: &str) -> String {
    if let Some(near) = nearest(message) {
        return format!("did you mean `{near}`?");
    }
    if message.contains("socket address") {
        return "write an address with a port, such as listen = \"127.0.0.1:7080\"".to_owned();
    }
    "correct this line: `orion-server config print` shows every setting with its default".to_owned()
}

/// Returns the key or the value that was probably meant. The message quotes the unknown one first and then the
/// known ones.
fn nearest(message: &str) -> Option<&str> {
    let mut quoted = message.split('`').skip(1).step_by(2);
    let unknown = quoted.next()?;
    if !message.contains("unknown field") && !message.contains("unknown variant") {
        return None;
    }
    quoted
        .map(|known| (strsim::jaro_winkler(unknown, known), known))
        .filter(|(score, _)| *score > 0.7)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, known)| known)
}
