//! The note of an upgrade that is under way, and the way back from one that was cut off.

use std::fs;
use std::path::Path;
use std::time::UNIX_EPOCH;

use super::ServiceError;
use super::files::take_place;
use crate::config::files_of_an_upgrade;
use crate::owner_file::remove;

/// Notes that a file is being upgraded.
pub(super) fn begin_upgrade(path: &Path) -> Result<(), ServiceError> {
    let [_, _, note, _] = files_of_an_upgrade(path);
    fs::File::create(&note).and_then(|file| file.sync_all()).map_err(ServiceError::at(path))
}

/// Returns when an upgrade began that did not come to its end, Unix milliseconds. None if there is none.
pub(super) fn upgrading_since(path: &Path) -> Option<i64> {
    let [_, _, note, _] = files_of_an_upgrade(path);
    let began = fs::symlink_metadata(note).ok()?.modified();
    let began = began.ok().and_then(|at| at.duration_since(UNIX_EPOCH).ok());
    Some(began.and_then(|since| i64::try_from(since.as_millis()).ok()).unwrap_or_default())
}

/// Removes the note of an upgrade.
pub(super) fn end_upgrade(path: &Path) -> Result<(), ServiceError> {
    let [_, _, note, _] = files_of_an_upgrade(path);
    remove(&note).map(drop).map_err(ServiceError::at(path))
}

/// Forgets the file from before, where a change was cut off between its two ends.
pub(super) fn forget_previous(path: &Path) -> Result<(), ServiceError> {
    let [_, before, ..] = files_of_an_upgrade(path);
    remove(&before).map(drop).map_err(ServiceError::at(path))
}

/// Returns whether the file from before is there.
pub(super) fn has_previous(path: &Path) -> bool {
    let [_, before, ..] = files_of_an_upgrade(path);
    fs::symlink_metadata(before).is_ok()
}

/// Puts back the file from before, where a change was cut off between its two ends.
pub(super) fn restore_previous(path: &Path) -> Result<(), ServiceError> {
    let [_, before, ..] = files_of_an_upgrade(path);
    take_place(&before, path).map_err(ServiceError::at(path))?;
    // Where both are names of one file, nothing was renamed.
    forget_previous(path)
}
