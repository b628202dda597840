//! The rules of POSIX for one component.

use super::PathError;
use super::error::shown;

/// The maximum length of a component, in bytes.
const MAX_NAME_BYTES: usize = 255;

/// Backslashes, colons, trailing dots, `%2e` and line breaks are ordinary characters here.
pub(super) fn check_component(component: &str) -> Result<(), PathError> {
    if component.len() > MAX_NAME_BYTES {
        return Err(PathError::NameTooLong { component: shown(component) });
    }
    Ok(())
}
