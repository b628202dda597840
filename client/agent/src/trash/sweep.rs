//! What leaves the trash: by age first, then by size, the oldest first.

use cap_fs_ext::{DirExt, OpenOptionsFollowExt, OpenOptionsSyncExt};
use cap_std::fs::{Dir, OpenOptions};
use jiff::Timestamp;
use std::io::{self, Read};

use super::{RECORD, Record, Trash};
use crate::roots::{LOCAL_TRASH, Roots};

/// How long anything stays, in milliseconds.
const KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// How much stays, in bytes, beside the last thing that was put in.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
const MAX_RECORD_BYTES: u64 = 64 * 1024;

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many things were removed for good.
    pub removed: u64,
    /// How many could not be removed; the next sweep tries again.
    pub failed: u64,
    /// How many stay.
    pub kept: u64,
    /// Bytes that stay.
    pub kept_bytes: u64,
}

impl Trash {
    /// Removes for good what has lain here for seven days, and beyond one GiB the oldest first. The
    /// last thing put in stays its week whatever its size, for moving it took no room. Blocks.
    ///
    /// # Errors
    /// What the file system says of the trash folder itself.
    pub fn sweep(&self, roots: &Roots, now: Timestamp) -> io::Result<Swept> {
        let mut trashes = vec![self.dir.try_clone()?];
        for root in roots.handles() {
            trashes.extend(root.open_dir_nofollow(LOCAL_TRASH));
        }
        let mut swept = Swept::default();
        let mut held: Vec<(&Dir, String, Record)> = Vec::new();
        for trash in &trashes {
            for entry in trash.entries()? {
                let name = entry?.file_name();
                let Some(name) = name.to_str() else { continue };
                match read_record(trash, name) {
                    Ok(record) => held.push((trash, name.to_owned(), record)),
                    Err(_) => forget_broken(trash, name, now, &mut swept),
                }
            }
        }
        held.sort_by_key(|(_, _, record)| (record.deleted_at_ms, record.id));
        let mut bytes: u64 =
            held.iter().fold(0, |sum, (_, _, record)| sum.saturating_add(record.bytes));
        let last = held.len().saturating_sub(1);
        for (index, (trash, name, record)) in held.iter().enumerate() {
            let expired = is_old(record.deleted_at_ms, now);
            if expired || (bytes > MAX_BYTES && index != last) {
                bytes = bytes.saturating_sub(record.bytes);
                remove(trash, name, &mut swept);
            } else {
                swept.kept += 1;
                swept.kept_bytes = swept.kept_bytes.saturating_add(record.bytes);
            }
        }
        Ok(swept)
    }
}

fn read_record(trash: &Dir, name: &str) -> io::Result<Record> {
    let mut options = OpenOptions::new();
    // What lies in a shared folder may be anybody's: a FIFO is not waited for.
    options.read(true).follow(cap_fs_ext::FollowSymlinks::No).nonblock(true);
    let file = trash.open_dir_nofollow(name)?.open_with(RECORD, &options)?;
    if !file.metadata()?.is_file() {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut text = String::new();
    file.take(MAX_RECORD_BYTES).read_to_string(&mut text)?;
    Ok(serde_json::from_str(&text)?)
}

/// A thing without a readable record is from a write that was cut off. It may still be under way, so
/// it stays as long as anything else.
fn forget_broken(trash: &Dir, name: &str, now: Timestamp, swept: &mut Swept) {
    let modified = trash
        .symlink_metadata(name)
        .and_then(|metadata| metadata.modified())
        .ok()
        .and_then(|at| Timestamp::try_from(at.into_std()).ok());
    if modified.is_some_and(|at| is_old(at.as_millisecond(), now)) {
        remove(trash, name, swept);
    } else {
        swept.kept += 1;
    }
}

fn is_old(put_at_ms: i64, now: Timestamp) -> bool {
    now.as_millisecond().saturating_sub(put_at_ms) >= KEPT_MS
}

fn remove(trash: &Dir, name: &str, swept: &mut Swept) {
    match trash.remove_dir_all(name) {
        Ok(()) => swept.removed += 1,
        Err(error) => {
            tracing::warn!(id = name, kind = %error.kind(), "something in the trash could not be removed");
            swept.failed += 1;
        }
    }
}
