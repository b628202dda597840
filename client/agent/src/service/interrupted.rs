//! The note of an upgrade that is under way, and the way back from one that was cut off.

use std::fs;
use std::io;
use std::path::Path;

use super::ServiceError;
use crate::config::files_of_an_upgrade;
use crate::owner_file::remove;

/// Notes that a file is being upgraded.
pub(super) fn begin_upgrade(path: &Path) -> Result<(), ServiceError> {
    let [.., note] = files_of_an_upgrade(path);
    fs::File::create(&note).and_then(|file| file.sync_all()).map_err(ServiceError::at(path))
}

/// Returns whether an upgrade of a file did not come to its end.
pub(super) fn is_upgrading(path: &Path) -> bool {
    let [.., note] = files_of_an_upgrade(path);
    fs::symlink_metadata(note).is_ok()
}

/// Removes the note of an upgrade.
pub(super) fn end_upgrade(path: &Path) -> Result<(), ServiceError> {
    let [.., note] = files_of_an_upgrade(path);
    remove(&note).map(drop).map_err(ServiceError::at(path))
}

/// Forgets the file from before, where a change was cut off between its two ends.
pub(super) fn forget_previous(path: &Path) -> Result<(), ServiceError> {
    let [_, before, _] = files_of_an_upgrade(path);
    remove(&before).map(drop).map_err(ServiceError::at(path))
}

/// Puts back the file from before, where a change was cut off between its two ends. Returns whether there was one.
pub(super) fn restore_previous(path: &Path) -> Result<bool, ServiceError> {
    let [_, before, _] = files_of_an_upgrade(path);
    match fs::rename(&before, path) {
        // Where both are names of one file, nothing was renamed.
        Ok(()) => forget_previous(path).map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(ServiceError::at(path)(error)),
    }
}
