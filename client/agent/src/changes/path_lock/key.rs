//! Keys of locked locations: the folders on the path by device and inode number, each with the next name.

use std::path::PathBuf;

use cap_std::fs::{Dir, Metadata};
use orion_domain::{Access, DevicePath};

use crate::coordination::{FileId, LockKey};
use crate::roots::{Located, Roots};

/// Accesses that a call may have to a path.
const ANY: [Access; 3] = [Access::Write, Access::Delete, Access::Read];

/// Returns the locations of a path: its target, and the entry itself if that is a link. Empty if the path
/// leads to no granted location.
pub(super) fn keys_of(path: &DevicePath, roots: &Roots) -> Vec<LockKey> {
    let led = ANY.iter().find_map(|access| roots.locate(path, *access).ok());
    let entry = ANY.iter().find_map(|access| roots.locate_entry(path, *access).ok());
    let mut places: Vec<LockKey> = Vec::new();
    for place in [led, entry].into_iter().flatten().filter_map(|located| of(&located)) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// Returns `None` if another process changes the path at this moment.
fn of(located: &Located) -> Option<LockKey> {
    let mut folder = id(&located.root_dir.dir_metadata().ok()?);
    let mut way = Vec::new();
    let mut walked = PathBuf::new();
    for name in located.real.relative_to(&located.root)? {
        way.push((folder, folded(name)));
        walked.push(name);
        folder = id(&located.root_dir.symlink_metadata(&walked).ok()?);
    }
    let thing = match located.rest.first() {
        None => Some(folder),
        Some(name) => here(&located.dir, name),
    };
    let mut below = String::new();
    for name in &located.rest {
        if !below.is_empty() {
            below.push('/');
        }
        below.push_str(&folded(name));
        way.push((folder, below.clone()));
    }
    // Nothing can exist below a missing name or a file.
    let thing = thing.filter(|_| located.rest.len() <= 1);
    Some(LockKey { way, thing })
}

fn here(dir: &Dir, name: &str) -> Option<FileId> {
    dir.symlink_metadata(name).ok().map(|metadata| id(&metadata))
}

/// Folds names that some file systems treat as equal. Where they differ, one call merely waits for the other.
fn folded(name: &str) -> String {
    name.to_lowercase()
}

#[cfg(unix)]
fn id(metadata: &Metadata) -> FileId {
    use cap_fs_ext::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Windows reports these numbers for open files only. All folders share one key, so more calls wait than need
/// to.
#[cfg(not(unix))]
fn id(_: &Metadata) -> FileId {
    (0, 0)
}
