//! Locks on paths. Calls that change the same location run one after the other. A folder and its contents
//! share a lock. So the evaluated state is the state that changes, whatever other calls on the device do.
//! Calls on other locations do not wait.
//!
//! The file system decides what a location is, not the text of the path. Two names of one file are one
//! location, whether by link, second mount, letter case or hard link.

mod key;
#[cfg(test)]
mod tests;

use orion_domain::{CallId, DevicePath, ToolError};

use crate::call::FileContext;
use crate::coordination::{HeldPaths, LockedPath, hold};
use crate::observe::compare;
use key::keys_of;

/// How often a location is resolved again while processes outside Orion keep changing it.
const MAX_ATTEMPTS: usize = 8;

/// Waits until no other call holds these paths or any path that the preview observed, then compares the
/// observed ones. Takes all locks of a call at once, so that no two calls wait for each other.
///
/// # Errors
/// `CANCELLED` or `TIMEOUT`, and `PRECONDITION_FAILED` if something differs from the preview.
pub(crate) fn lock_paths(
    context: &FileContext<'_>,
    paths: &[&DevicePath],
) -> Result<HeldPaths, ToolError> {
    take(context, paths, None)
}

/// As [`lock_paths`], and locks the call that is being undone.
pub(super) fn lock_paths_to_undo(
    context: &FileContext<'_>,
    call: CallId,
    paths: &[DevicePath],
) -> Result<HeldPaths, ToolError> {
    take(context, &paths.iter().collect::<Vec<_>>(), Some(call))
}

fn take(
    context: &FileContext<'_>,
    paths: &[&DevicePath],
    call: Option<CallId>,
) -> Result<HeldPaths, ToolError> {
    let shown = context.expected.iter().flat_map(|expected| &expected.touches.paths);
    let paths: Vec<&DevicePath> =
        paths.iter().copied().chain(shown.map(|touch| &touch.path)).collect();
    let resolve = || -> Vec<LockedPath> {
        let taken = paths.iter().flat_map(|path| {
            let places = keys_of(path, context.roots);
            if places.is_empty() {
                return vec![LockedPath::Nowhere((*path).clone())];
            }
            places.into_iter().map(LockedPath::Place).collect()
        });
        taken.chain(call.map(LockedPath::Call)).collect()
    };
    let mut wanted = resolve();
    for _ in 0..MAX_ATTEMPTS {
        let lock = hold(wanted, &|| context.check())?;
        wanted = resolve();
        // The call that held the lock may have moved a folder on the path.
        if wanted == lock.paths() {
            compare(context)?;
            return Ok(lock);
        }
    }
    let lock = hold(wanted, &|| context.check())?;
    compare(context)?;
    Ok(lock)
}
