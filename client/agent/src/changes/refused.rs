//! Why a step was not taken.

use std::io;

use orion_domain::{DevicePath, ErrorCode, ToolError};

use super::Target;
use crate::roots::{Wanted, io_failure};

/// Why a step was not taken. Nothing changed then.
#[derive(Debug)]
pub(crate) enum Refused {
    /// Something has the name already.
    Taken(DevicePath),
    /// What is there is not what was looked at, or not what may be replaced.
    Changed(DevicePath),
    /// Source and destination lie on different file systems.
    OtherFileSystem(DevicePath),
    /// Anything else.
    Failed(ToolError),
}

impl Refused {
    /// What the operating system says of a target.
    pub(super) fn io(error: &io::Error, target: &Target) -> Self {
        Self::Failed(io_failure(error, Wanted::Path, &target.path))
    }
}

impl From<ToolError> for Refused {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

impl From<Refused> for ToolError {
    fn from(refused: Refused) -> Self {
        let (code, path, message) = match refused {
            Refused::Failed(error) => return error,
            Refused::Taken(path) => (
                ErrorCode::AlreadyExists,
                path.to_string(),
                format!("{path}: something is there already; choose another name."),
            ),
            Refused::Changed(path) => (
                ErrorCode::PreconditionFailed,
                path.to_string(),
                format!(
                    "{path} was changed by someone else in the meantime, so it was left alone. Look at it again."
                ),
            ),
            Refused::OtherFileSystem(path) => (
                ErrorCode::NotSupported,
                path.to_string(),
                format!("{path} lies on another file system."),
            ),
        };
        ToolError::new(code, message).with("attempted_path", path)
    }
}
