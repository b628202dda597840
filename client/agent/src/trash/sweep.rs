//! What leaves the trash: by age first, then by size and number, the oldest first.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::Ordering;

use cap_std::fs::Dir;
use jiff::Timestamp;
use orion_domain::CallId;

use super::{OPEN, Trash, local_if_there};
use crate::changes::record::Record;
use crate::changes::{forget_local_of, recover};
use crate::roots::{LOCAL_TRASH, Roots};

/// How long anything stays, in milliseconds.
const KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// How much stays, in bytes, beside the last thing that was put in.
const MAX_BYTES: u64 = 1024 * 1024 * 1024;
/// How many calls' records stay.
const MAX_RECORDS: usize = 10_000;

/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Swept {
    /// How many calls' things were removed for good.
    pub removed: u64,
    /// How many could not be removed; the next sweep tries again.
    pub failed: u64,
    /// How many stay.
    pub kept: u64,
    /// Bytes that stay.
    pub kept_bytes: u64,
}

/// A call's folder.
struct Held {
    call: CallId,
    open: bool,
    at_ms: i64,
    bytes: u64,
}

impl Trash {
    /// Removes for good what has lain here for seven days, and beyond one GiB or ten thousand calls the
    /// oldest first. The last thing put in stays its week whatever its size, for moving it took no
    /// room. What an earlier run left unfinished is cleaned up first, where it is in reach. Blocks.
    ///
    /// # Errors
    /// What the file system says of the trash folder itself.
    pub fn sweep(&self, roots: &Roots, now: Timestamp) -> io::Result<Swept> {
        recover(self, roots);
        self.bytes.store(0, Ordering::Relaxed);
        self.calls.store(0, Ordering::Relaxed);
        let mut swept = Swept::default();
        let mut held: Vec<Held> = Vec::new();
        let mut known = BTreeSet::new();
        for entry in self.dir.entries()? {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else { continue };
            let (id, open) = name.strip_suffix(OPEN).map_or((name, false), |id| (id, true));
            let record = id.parse().ok().and_then(|call: CallId| {
                known.insert(call.to_string());
                let place = cap_fs_ext::DirExt::open_dir_nofollow(&self.dir, name).ok()?;
                Some((call, Record::read(&place).ok()?))
            });
            match record {
                Some((call, record)) => {
                    // Of so many calls no more is remembered than that.
                    let (at_ms, bytes) = (record.header.at_ms, record.kept_bytes());
                    held.push(Held { call, open, at_ms, bytes });
                }
                None => forget_stray(&self.dir, name, now, &mut swept),
            }
        }
        held.sort_by_key(|held| (held.at_ms, held.call));
        let mut bytes: u64 = held.iter().fold(0, |sum, held| sum.saturating_add(held.bytes));
        let mut count = held.len();
        let last = held.len().saturating_sub(1);
        for (index, held) in held.iter().enumerate() {
            let is_too_much = (bytes > MAX_BYTES && held.bytes > 0) || count > MAX_RECORDS;
            // What a call is about to change is not known to the end.
            let may_go = is_too_much && index != last && !held.open;
            if is_old(held.at_ms, now) || may_go {
                bytes = bytes.saturating_sub(held.bytes);
                count -= 1;
                self.remove(held, roots, &mut swept);
            } else {
                swept.kept += 1;
                swept.kept_bytes = swept.kept_bytes.saturating_add(held.bytes);
            }
        }
        for root in roots.handles() {
            sweep_local(&root, &known, now, &mut swept);
        }
        Ok(swept)
    }

    fn remove(&self, held: &Held, roots: &Roots, swept: &mut Swept) {
        if let Ok(Some((place, _))) = self.find(held.call)
            && let Ok(record) = Record::read(&place)
        {
            forget_local_of(roots, &record);
        }
        match self.forget(held.call) {
            Ok(()) => swept.removed += 1,
            Err(error) => {
                tracing::warn!(call = %held.call, kind = %error.kind(), "something in the trash could not be removed");
                swept.failed += 1;
            }
        }
    }
}

/// Removes from a hidden folder in an allowed path what no record tells of any more.
fn sweep_local(root: &Dir, known: &BTreeSet<String>, now: Timestamp, swept: &mut Swept) {
    let Some(local) = local_if_there(root) else { return };
    let Ok(entries) = local.entries() else { return };
    for entry in entries.flatten() {
        if let Some(name) = entry.file_name().to_str()
            && !known.contains(name)
        {
            forget_stray(&local, name, now, swept);
        }
    }
    // Where something is in it, it stays.
    let _ = root.remove_dir(LOCAL_TRASH);
}

/// A thing without a readable record is from a call that was cut off, or is nobody's. It may still be
/// wanted, so it stays as long as anything else.
fn forget_stray(trash: &Dir, name: &str, now: Timestamp, swept: &mut Swept) {
    let modified = trash
        .symlink_metadata(name)
        .and_then(|metadata| metadata.modified())
        .ok()
        .and_then(|at| Timestamp::try_from(at.into_std()).ok());
    if !modified.is_some_and(|at| is_old(at.as_millisecond(), now)) {
        swept.kept += 1;
        return;
    }
    let removed = trash.remove_dir_all(name).or_else(|_| trash.remove_file(name));
    match removed {
        Ok(()) => swept.removed += 1,
        Err(error) => {
            tracing::warn!(name, kind = %error.kind(), "something in the trash could not be removed");
            swept.failed += 1;
        }
    }
}

fn is_old(put_at_ms: i64, now: Timestamp) -> bool {
    now.as_millisecond().saturating_sub(put_at_ms) >= KEPT_MS
}
