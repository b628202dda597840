//! Locks on paths. Calls that change the same location run one after the other. A folder and its contents
//! share a lock. So the evaluated state is the state that changes, whatever other calls on the device do.
//! Calls on other locations do not wait.
//!
//! The file system decides what a location is, not the text of the path. Two names of one file are one
//! location, whether by link, second mount, letter case or hard link.

mod key;
#[cfg(test)]
mod tests;

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use orion_domain::{CallId, DevicePath, ToolError};

use crate::call::FileContext;
use crate::observe::compare;
use key::{LockKey, keys_of};

/// How often a waiting call checks whether to stop.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);
/// How often a location is resolved again while processes outside Orion keep changing it.
const MAX_ATTEMPTS: usize = 8;

/// All locked paths. The mutex is held only to add and to remove entries.
static LOCKED: Mutex<Vec<LockedPath>> = Mutex::new(Vec::new());
static FREED: Condvar = Condvar::new();

/// Something that only one call at a time may change.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LockedPath {
    /// A location with everything below it.
    Place(LockKey),
    /// A path that leads to no granted location; any call that names it is refused.
    Nowhere(DevicePath),
    /// The changes of an earlier call.
    Call(CallId),
}

impl LockedPath {
    fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Place(one), Self::Place(other)) => one.overlaps(other),
            (Self::Nowhere(one), Self::Nowhere(other)) => {
                one.contains(other) || other.contains(one)
            }
            (Self::Call(one), Self::Call(other)) => one == other,
            (Self::Place(_) | Self::Nowhere(_) | Self::Call(_), _) => false,
        }
    }
}

/// The locks of one call, released on drop.
#[derive(Debug)]
#[must_use]
pub(crate) struct PathLock(Vec<LockedPath>);

/// Waits until no other call holds these paths or any path that the preview observed, then compares the
/// observed ones. Takes all locks of a call at once, so that no two calls wait for each other.
///
/// # Errors
/// `CANCELLED` or `TIMEOUT`, and `PRECONDITION_FAILED` if something differs from the preview.
pub(crate) fn lock_paths(
    context: &FileContext<'_>,
    paths: &[&DevicePath],
) -> Result<PathLock, ToolError> {
    take(context, paths, None)
}

/// As [`lock_paths`], and locks the call that is being undone.
pub(super) fn lock_paths_to_undo(
    context: &FileContext<'_>,
    call: CallId,
    paths: &[DevicePath],
) -> Result<PathLock, ToolError> {
    take(context, &paths.iter().collect::<Vec<_>>(), Some(call))
}

fn take(
    context: &FileContext<'_>,
    paths: &[&DevicePath],
    call: Option<CallId>,
) -> Result<PathLock, ToolError> {
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
        let lock = wait(context, wanted)?;
        wanted = resolve();
        // The call that held the lock may have moved a folder on the path.
        if wanted == lock.0 {
            compare(context)?;
            return Ok(lock);
        }
    }
    let lock = wait(context, wanted)?;
    compare(context)?;
    Ok(lock)
}

fn wait(context: &FileContext<'_>, wanted: Vec<LockedPath>) -> Result<PathLock, ToolError> {
    let mut taken = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
    while wanted.iter().any(|wanted| taken.iter().any(|taken| taken.excludes(wanted))) {
        context.check()?;
        taken = FREED.wait_timeout(taken, CHECK_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
    }
    taken.extend(wanted.iter().cloned());
    Ok(PathLock(wanted))
}

impl Drop for PathLock {
    fn drop(&mut self) {
        let mut taken = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
        for mine in &self.0 {
            // A call may name a path twice.
            if let Some(index) = taken.iter().position(|taken| taken == mine) {
                taken.swap_remove(index);
            }
        }
        drop(taken);
        FREED.notify_all();
    }
}
