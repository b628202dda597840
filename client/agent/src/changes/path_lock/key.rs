//! Where a path leads, as the disk tells it: the folders on the way by their numbers, each with the name
//! that is gone on by.

use std::path::PathBuf;

use cap_std::fs::{Dir, Metadata};
use orion_domain::{Access, DevicePath};

use crate::roots::{Located, Roots};

/// What a call may be about to do with a path.
const ANY: [Access; 3] = [Access::Write, Access::Delete, Access::Read];

/// A thing on a disk.
type Id = (u64, u64);

/// See the module.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LockKey {
    /// Each folder on the way with the name in it, the last being the one that is meant. Of what is not
    /// there yet, the names stand behind the deepest folder that is.
    way: Vec<(Id, String)>,
    /// What has the name, if anything: it may have others.
    thing: Option<Id>,
}

impl LockKey {
    /// Whether changing the one may change the other, or what is in it.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        self.holds(other) || other.holds(self)
    }

    fn holds(&self, other: &Self) -> bool {
        let by_name = self.way.last().is_some_and(|last| other.way.contains(last));
        by_name
            || self.thing.is_some_and(|thing| {
                other.thing == Some(thing) || other.way.iter().any(|(folder, _)| *folder == thing)
            })
    }
}

/// The places that a path stands for: where it leads, and its own last name where that is a link. None
/// where it leads nowhere that is lent.
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

/// None where the way is changed by somebody at this moment.
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
    // Names that follow one that is missing, or no folder, have nothing behind them.
    let thing = thing.filter(|_| located.rest.len() <= 1);
    Some(LockKey { way, thing })
}

fn here(dir: &Dir, name: &str) -> Option<Id> {
    dir.symlink_metadata(name).ok().map(|metadata| id(&metadata))
}

/// Names that some file system takes for one are one. Where they are two, one waits for the other.
fn folded(name: &str) -> String {
    name.to_lowercase()
}

#[cfg(unix)]
fn id(metadata: &Metadata) -> Id {
    use cap_fs_ext::MetadataExt;
    (metadata.dev(), metadata.ino())
}

/// Windows tells the numbers for an open file only. Then all folders are one, and more wait than need to.
#[cfg(not(unix))]
fn id(_: &Metadata) -> Id {
    (0, 0)
}
