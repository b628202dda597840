//! Results of the tools that tell whether a program is installed.

use orion_domain::{ErrorCode, ToolError, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The longest version that a call may name, in bytes.
const MAX_VERSION_BYTES: usize = 32;

/// A program that runs and ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstalledProgram {
    /// Whether the program is there and says its version.
    pub installed: bool,
    /// The version; none where it is not installed.
    pub version: Option<String>,
    /// The program's file; none where there is none.
    pub path: Option<String>,
    /// Whether it is installed in the version that is asked for, or a later one.
    pub ok: bool,
}

/// A program with a daemon behind it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct InstalledDaemon {
    /// Whether the program is there.
    pub installed: bool,
    /// Whether its daemon answers.
    pub running: bool,
    /// The version; none where the program says none.
    pub version: Option<String>,
    /// How many containers run; none where the daemon does not answer.
    pub containers: Option<u64>,
}

/// Parses a version as its numbers: `3.9`, `2.43.0`.
///
/// # Errors
/// `INVALID_ARGUMENT`.
pub fn version(text: &str) -> Result<Vec<u32>, ToolError> {
    let fits = text.len() <= MAX_VERSION_BYTES
        && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let numbers: Option<Vec<u32>> = text.split('.').map(|part| part.parse().ok()).collect();
    numbers.filter(|_| fits).ok_or_else(|| {
        let shown = visible(&text.chars().take(MAX_VERSION_BYTES).collect::<String>());
        let message = format!("`{shown}` is not a version such as 3.9.");
        ToolError::new(ErrorCode::InvalidArgument, message)
    })
}
