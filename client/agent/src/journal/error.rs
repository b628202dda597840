//! Errors of the journal, and the tool errors that callers get for them.

use std::io;
use std::path::PathBuf;

use orion_domain::{ErrorCode, ToolError};

/// Why an entry is not on disk.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JournalError {
    /// The journal cannot be read or begun.
    #[error("the journal {path} can't be used: {reason}", path = path.display())]
    Open {
        /// The file.
        path: PathBuf,
        /// The operating system's error.
        reason: String,
    },
    /// There is no room on the disk.
    #[error("the disk is full")]
    DiskFull,
    /// Writing failed otherwise. The file's content is unknown, so no call with effects runs until the
    /// agent restarts and reads the file.
    #[error("writing failed ({0}); restart the agent when the disk is well")]
    Broken(io::ErrorKind),
    /// The agent is stopping.
    #[error("the agent is stopping")]
    Stopped,
}

impl JournalError {
    /// Returns the tool error of a call that does not run because of this error.
    #[must_use]
    pub fn refusal(&self) -> ToolError {
        match self {
            Self::DiskFull => ToolError::new(
                ErrorCode::ResourceExhausted,
                "Nothing was run: the device's disk is full, and a call with effects is recorded before it starts.",
            ).hint("free some space on the device, then try again"),
            Self::Stopped => ToolError::new(
                ErrorCode::Cancelled,
                "Nothing was run: the agent is stopping.",
            ).hint("try again when the device is connected"),
            Self::Open { .. } | Self::Broken(_) => ToolError::new(
                ErrorCode::Internal,
                "Nothing was run: the device's journal cannot be written.",
            ).hint("read the agent's log on the device"),
        }
    }
}
