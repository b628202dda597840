//! Removes expired content from the trash, and nothing before its time.

use std::collections::BTreeSet;
use std::io;

use cap_std::fs::Dir;
use jiff::Timestamp;
use orion_domain::CallId;

use super::contents::forget_local_of;
use super::recover::recover;
use crate::record::Record;
use crate::roots::{LOCAL_TRASH, Roots};
use crate::trash::{Reservation, Trash, call_of, is_old, local_if_there};

/// The result of a sweep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SweepResult {
    /// Calls whose content was removed for good.
    pub removed: u64,
    /// Calls whose content could not be removed; the next sweep tries again.
    pub failed: u64,
    /// Calls whose content stays.
    pub kept: u64,
    /// Bytes on the disk that stay.
    pub kept_bytes: u64,
}

/// Removes content older than seven days for good. Cleans up unfinished calls of an earlier run first, if
/// they are within reach. Blocks.
///
/// # Errors
/// Errors of the file system about the trash folder itself.
pub fn sweep(trash: &Trash, roots: &Roots, now: Timestamp) -> io::Result<SweepResult> {
    recover(trash, roots);
    let mut swept = SweepResult::default();
    let mut known = BTreeSet::new();
    for entry in trash.dir().entries()? {
        let name = entry?.file_name();
        let Some(name) = name.to_str() else { continue };
        let record = call_of(name).and_then(|(call, _)| {
            known.insert(call);
            let place = cap_fs_ext::DirExt::open_dir_nofollow(trash.dir(), name).ok()?;
            Record::read(&place).ok()
        });
        match record {
            Some(record) if is_old(record.header.at_ms, now) => {
                remove(trash, &record, roots, &mut swept);
            }
            Some(record) => {
                swept.kept += 1;
                swept.kept_bytes = swept.kept_bytes.saturating_add(record.kept_bytes());
            }
            None => {
                if forget_stray(trash.dir(), name, now, &mut swept)
                    && let Some((call, _)) = call_of(name)
                {
                    trash.give_back_room(call);
                }
            }
        }
    }
    for root in roots.handles() {
        sweep_local(&root, &known, now, &mut swept);
    }
    Ok(swept)
}

/// Reserves space for a call, once `leaving` bytes have left. Removes expired content if that is needed.
/// Returns whether there was space.
pub(crate) fn make_room(
    trash: &Trash,
    call: CallId,
    bytes: u64,
    leaving: u64,
    roots: &Roots,
) -> bool {
    match trash.reserve(call, bytes, leaving) {
        Reservation::Made => return true,
        Reservation::NoSpace => return false,
        Reservation::NeedsSweep => {}
    }
    if let Err(error) = sweep(trash, roots, Timestamp::now()) {
        tracing::warn!(kind = %error.kind(), "the trash could not be looked through");
        return false;
    }
    trash.reserve(call, bytes, leaving) == Reservation::Made
}

fn remove(trash: &Trash, record: &Record, roots: &Roots, swept: &mut SweepResult) {
    forget_local_of(roots, record);
    match trash.forget(record.header.call) {
        Ok(()) => swept.removed += 1,
        Err(error) => {
            tracing::warn!(call = %record.header.call, kind = %error.kind(), "something in the trash could not be removed");
            swept.failed += 1;
        }
    }
}

/// Removes expired content without a record from the hidden folder of an allowed path.
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
    // Removal fails if the folder has content, so it stays.
    let _ = root.remove_dir(LOCAL_TRASH);
}

/// Removes an expired entry without a readable record, left by an interrupted call or of unknown origin. The
/// entry may still be wanted, so it stays as long as any other. Returns whether it was removed.
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
