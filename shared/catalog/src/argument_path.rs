//! Arguments that are paths of the device.

use orion_domain::envelope::sentence;
use orion_domain::path::PathError;
use orion_domain::{DevicePath, ErrorCode, Places, ToolError};

/// Parses an argument as a path of the device.
///
/// # Errors
/// `INVALID_PATH`, with the attempted path.
pub fn path(places: &Places, text: &str) -> Result<DevicePath, ToolError> {
    DevicePath::resolve(places, text).map_err(|error| invalid_path(text, &error))
}

fn invalid_path(text: &str, error: &PathError) -> ToolError {
    let shown: String = text.chars().take(256).collect();
    ToolError::new(ErrorCode::InvalidPath, sentence(&error.problem()))
        .with("attempted_path", shown)
        .hint(error.hint())
}
