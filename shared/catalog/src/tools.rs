//! One file a tool.

pub mod analyze_disk;
pub mod copy_path;
pub mod create_directory;
pub mod delete_directory;
pub mod delete_file;
pub mod edit_file;
pub mod get_datetime;
pub mod get_device_info;
pub mod get_file_info;
pub mod list_directory;
pub mod modify_config;
pub mod move_path;
pub mod open_app;
pub mod read_config;
pub mod read_file;
pub mod search_directory;
pub mod search_files;
pub mod search_text;
pub mod undo_call;
pub mod write_file;

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
