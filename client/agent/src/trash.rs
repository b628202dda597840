//! Orion's own trash on the device: what a tool deletes lies here for a week, with what is needed to
//! put it back.
//!
//! Not the desktop's trash: that one may be emptied, searched or synchronised by others.

mod sweep;
#[cfg(test)]
mod tests;

use std::io::{self, Write};
use std::path::Path;

use cap_std::ambient_authority;
use cap_std::fs::{Dir, DirBuilder, OpenOptions};
use jiff::Timestamp;
use orion_domain::DevicePath;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::roots::LOCAL_TRASH;

pub use sweep::Swept;

const RECORD: &str = "record.json";
const CONTENT: &str = "content";

/// The trash in the agent's state folder.
#[derive(Debug)]
pub struct Trash {
    dir: Dir,
}

/// What is known of one thing in the trash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// Its name in the trash.
    pub id: Uuid,
    /// Where it was, as the call named it.
    pub path: DevicePath,
    /// Where it really was, links followed.
    pub real_path: DevicePath,
    /// When it was put here, in milliseconds since 1970 began in UTC.
    pub deleted_at_ms: i64,
    /// Files and folders, itself included.
    pub entries: u64,
    /// Bytes in files.
    pub bytes: u64,
}

/// What goes into the trash.
#[derive(Debug)]
pub struct Discarded<'a> {
    /// The root it lies beneath, for a trash on the same file system.
    pub root: &'a Dir,
    /// The folder that holds it.
    pub parent: &'a Dir,
    /// Its name there.
    pub name: &'a str,
    /// Where it was, as the call named it.
    pub path: &'a DevicePath,
    /// Where it really was, links followed.
    pub real_path: &'a DevicePath,
    /// Files and folders, itself included.
    pub entries: u64,
    /// Bytes in files.
    pub bytes: u64,
}

impl Trash {
    /// The trash in `<state>/trash`, made if it is missing, for nobody but the agent's account.
    ///
    /// # Errors
    /// What the file system says.
    pub fn open(state: &Path) -> io::Result<Self> {
        let state = Dir::open_ambient_dir(state, ambient_authority())?;
        Ok(Self { dir: private_dir(&state, "trash")? })
    }

    /// Moves a folder or file here by renaming, so that nothing is copied and nothing is half done.
    /// Where it lies on another file system, it goes to a hidden folder in its root instead.
    ///
    /// # Errors
    /// What the file system says; the thing is then still where it was.
    pub fn take(&self, discarded: &Discarded<'_>, now: Timestamp) -> io::Result<Uuid> {
        let record = Record {
            id: Uuid::now_v7(),
            path: discarded.path.clone(),
            real_path: discarded.real_path.clone(),
            deleted_at_ms: now.as_millisecond(),
            entries: discarded.entries,
            bytes: discarded.bytes,
        };
        match put(&self.dir, discarded, &record) {
            Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
                put(&private_dir(discarded.root, LOCAL_TRASH)?, discarded, &record)?;
            }
            other => other?,
        }
        Ok(record.id)
    }
}

/// Writes the record first: content without one could not be put back.
fn put(trash: &Dir, discarded: &Discarded<'_>, record: &Record) -> io::Result<()> {
    let id = record.id.to_string();
    let place = private_dir(trash, &id)?;
    let moved = write_record(&place, record)
        .and_then(|()| discarded.parent.rename(discarded.name, &place, CONTENT));
    if moved.is_err() {
        // Left behind it would be swept anyway; the first error is the one that tells.
        let _ = trash.remove_dir_all(&id);
    }
    moved
}

fn write_record(place: &Dir, record: &Record) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    {
        use cap_fs_ext::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = place.open_with(RECORD, &options)?;
    file.write_all(&serde_json::to_vec(record)?)?;
    file.sync_all()
}

/// Opens a folder for the agent's account alone, making it if it is missing.
fn private_dir(parent: &Dir, name: &str) -> io::Result<Dir> {
    use cap_fs_ext::DirExt;

    #[cfg_attr(not(unix), expect(unused_mut, reason = "only Unix has a mode to set"))]
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    {
        use cap_std::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    match parent.create_dir_with(name, &builder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    parent.open_dir_nofollow(name)
}
