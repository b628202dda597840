//! Why a step was not taken.

use std::io;

use orion_domain::{DevicePath, ErrorCode, ToolError};

use super::Target;
use crate::roots::{Wanted, io_failure};

/// Why a step was not taken. Nothing changed then.
#[derive(Debug)]
pub(crate) enum StepError {
    /// Something has the name already.
    Taken(DevicePath),
    /// What is there is not what was looked at, or not what may be replaced.
    Changed(DevicePath),
    /// Source and destination lie on different file systems.
    OtherFileSystem(DevicePath),
    /// Anything else.
    Failed(ToolError),
}

impl StepError {
    /// What the operating system says of a target.
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
        let (code, path, message) = match refused {
            StepError::Failed(error) => return error,
            StepError::Taken(path) => (
                ErrorCode::AlreadyExists,
                path.to_string(),
                format!("{path}: something is there already; choose another name."),
            ),
            StepError::Changed(path) => (
                ErrorCode::PreconditionFailed,
                path.to_string(),
                format!(
                    "{path} was changed by someone else in the meantime, so it was left alone. Look at it again."
                ),
            ),
            StepError::OtherFileSystem(path) => (
                ErrorCode::NotSupported,
                path.to_string(),
                format!("{path} lies on another file system."),
            ),
        };
        ToolError::new(code, message).with("attempted_path", path)
    }
}
