//! What leaves the trash: what has lain there for as long as was promised, and nothing before.

use std::collections::BTreeSet;
use std::io;

use cap_std::fs::Dir;
use jiff::Timestamp;
use orion_domain::CallId;

use super::{Trash, call_of, local_if_there};
use crate::changes::record::Record;
use crate::changes::{forget_local_of, recover};
use crate::roots::{LOCAL_TRASH, Roots};

/// How long anything stays, in milliseconds.
const KEPT_MS: i64 = 7 * 24 * 60 * 60 * 1000;
/// What a sweep did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepResult {
    /// How many calls' things were removed for good.
    pub removed: u64,
    /// How many could not be removed; the next sweep tries again.
    pub failed: u64,
    /// How many stay.
    pub kept: u64,
    /// Bytes of the disk that stay.
    pub kept_bytes: u64,
}

impl Trash {
    /// Removes for good what has lain here for seven days. What an earlier run left unfinished is cleaned up
    /// first, where it is in reach. Blocks.
    ///
    /// # Errors
    /// What the file system says of the trash folder itself.
    pub fn sweep(&self, roots: &Roots, now: Timestamp) -> io::Result<SweepResult> {
        recover(self, roots);
        let mut swept = SweepResult::default();
        let mut known = BTreeSet::new();
        for entry in self.dir.entries()? {
            let name = entry?.file_name();
            let Some(name) = name.to_str() else { continue };
            let record = call_of(name).and_then(|(call, _)| {
                known.insert(call);
                let place = cap_fs_ext::DirExt::open_dir_nofollow(&self.dir, name).ok()?;
                Record::read(&place).ok()
            });
            match record {
                Some(record) if is_old(record.header.at_ms, now) => {
                    self.remove(&record, roots, &mut swept);
                }
                Some(record) => {
                    swept.kept += 1;
                    swept.kept_bytes = swept.kept_bytes.saturating_add(record.kept_bytes());
                }
                None => {
                    if forget_stray(&self.dir, name, now, &mut swept)
                        && let Some((call, _)) = call_of(name)
                    {
                        self.give_back_room(call);
                    }
                }
            }
        }
        for root in roots.handles() {
            sweep_local(&root, &known, now, &mut swept);
        }
        Ok(swept)
    }

    fn remove(&self, record: &Record, roots: &Roots, swept: &mut SweepResult) {
        forget_local_of(roots, record);
        match self.forget(record.header.call) {
            Ok(()) => swept.removed += 1,
            Err(error) => {
                tracing::warn!(call = %record.header.call, kind = %error.kind(), "something in the trash could not be removed");
                swept.failed += 1;
            }
        }
    }
}

/// Removes from a hidden folder in an allowed path what no record tells of any more.
fn sweep_local(root: &Dir, known: &BTreeSet<CallId>, now: Timestamp, swept: &mut SweepResult) {
    let Some(local) = local_if_there(root) else { return };
    let Ok(entries) = local.entries() else { return };
    for entry in entries.flatten() {
        if let Some(name) = entry.file_name().to_str()
            && !name.parse().is_ok_and(|call: CallId| known.contains(&call))
        {
            let _ = forget_stray(&local, name, now, swept);
        }
    }
    // Where something is in it, it stays.
    let _ = root.remove_dir(LOCAL_TRASH);
}

/// A thing without a readable record is from a call that was cut off, or is nobody's. It may still be
/// wanted, so it stays as long as anything else. Whether it has gone.
fn forget_stray(trash: &Dir, name: &str, now: Timestamp, swept: &mut SweepResult) -> bool {
    let modified = trash
        .symlink_metadata(name)
        .and_then(|metadata| metadata.modified())
        .ok()
        .and_then(|at| Timestamp::try_from(at.into_std()).ok());
    if !modified.is_some_and(|at| is_old(at.as_millisecond(), now)) {
        swept.kept += 1;
        return false;
    }
    let removed = trash.remove_dir_all(name).or_else(|_| trash.remove_file(name));
    match removed {
        Ok(()) => {
            swept.removed += 1;
            true
        }
        Err(error) => {
            tracing::warn!(name, kind = %error.kind(), "something in the trash could not be removed");
            swept.failed += 1;
            false
        }
    }
}

pub(super) fn is_old(put_at_ms: i64, now: Timestamp) -> bool {
    now.as_millisecond().saturating_sub(put_at_ms) >= KEPT_MS
}
