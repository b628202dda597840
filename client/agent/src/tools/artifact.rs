//! Artifacts: archives with services, which Orion installs in a folder of its own and starts with Docker Compose.

pub(super) mod archive;
pub(super) mod compose;
pub(super) mod download;
pub(super) mod folder;
pub(super) mod health;
pub(super) mod manifest;
pub(super) mod name;

use orion_domain::{ErrorCode, ToolError};

/// Returns the error for something that an artifact does wrong.
fn unfit(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::ExecutionFailed, message)
        .hint("ask those who made the artifact for a better one")
}

/// Returns the error of the device's own disk.
fn disk(what: &str, error: &std::io::Error) -> ToolError {
    let message = format!("{what}: {}.", error.kind());
    ToolError::new(ErrorCode::ExecutionFailed, message).hint("look at the device's disk")
}
