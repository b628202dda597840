//! Why a step did not run.

use std::io;

use orion_domain::{DevicePath, ErrorCode, ToolError};

use crate::entry::{FileStamp, NoDigest, Target};
use crate::roots::{Wanted, io_failure};

/// Why a step did not run. Nothing changed.
#[derive(Debug)]
pub(crate) enum StepError {
    /// The name is in use.
    Taken(DevicePath),
    /// The entry is not the inspected one, or may not be replaced.
    Changed(DevicePath),
    /// Source and destination lie on different file systems.
    OtherFileSystem(DevicePath),
    /// Any other failure.
    Failed(ToolError),
}

impl StepError {
    /// Converts an operating system error about a target.
    pub(super) fn io(error: &io::Error, target: &Target) -> Self {
        Self::Failed(io_failure(error, Wanted::Path, &target.path))
    }
}

impl From<ToolError> for StepError {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

impl From<StepError> for ToolError {
    fn from(refused: StepError) -> Self {
        let (code, path, message, hint) = match refused {
            StepError::Failed(error) => return error,
            StepError::Taken(path) => (
                ErrorCode::AlreadyExists,
                path.to_string(),
                format!("{path}: something is there already."),
                Some("choose another name"),
            ),
            StepError::Changed(path) => (
                ErrorCode::PreconditionFailed,
                path.to_string(),
                format!(
                    "{path} was changed by someone else in the meantime, so it was left alone."
                ),
                Some("read it again"),
            ),
            StepError::OtherFileSystem(path) => (
                ErrorCode::NotSupported,
                path.to_string(),
                format!("{path} lies on another file system."),
                None,
            ),
        };
        let error = ToolError::new(code, message).with("attempted_path", path);
        match hint {
            Some(hint) => error.hint(hint),
            None => error,
        }
    }
}

impl NoDigest {
    /// Converts the error for a step on a target.
    pub(super) fn of(self, target: &Target) -> StepError {
        match self {
            Self::Io(error) => StepError::io(&error, target),
            Self::Stopped(error) => StepError::Failed(error),
        }
    }
}

impl Target {
    /// As [`stamp`](Self::stamp), and fails if the name is free.
    pub(super) fn see(&self) -> Result<FileStamp, StepError> {
        self.stamp()?.ok_or_else(|| StepError::Changed(self.path.clone()))
    }
}
