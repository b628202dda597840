//! One file a tool.

pub mod create_directory;
pub mod delete_directory;
pub mod get_datetime;
pub mod get_device_info;
pub mod list_directory;
pub mod open_app;
pub mod read_file;
pub mod search_files;
pub mod write_file;

use orion_domain::path::PathError;
use orion_domain::{DevicePath, ErrorCode, Places, ToolError};

/// Takes an argument as a path of the device.
///
/// # Errors
/// `INVALID_PATH`, with what was attempted.
pub fn path(places: &Places, text: &str) -> Result<DevicePath, ToolError> {
    DevicePath::resolve(places, text).map_err(|error| invalid_path(text, &error))
}

fn invalid_path(text: &str, error: &PathError) -> ToolError {
    let shown: String = text.chars().take(256).collect();
    ToolError::new(ErrorCode::InvalidPath, error.to_string()).with("attempted_path", shown)
}
