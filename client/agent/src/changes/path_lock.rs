//! Those who change one place take turns, and so do those who change what is in a folder and those who
//! change the folder: what was judged is what is changed, whatever the device's other calls do. Others
//! do not wait for them.
//!
//! A place is what the disk says it is, and not what a call writes: two names of one file, by a link, a
//! second mount, another case or a hard link, are one place.

mod key;
#[cfg(test)]
mod tests;

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use orion_domain::{CallId, DevicePath, ToolError};

use crate::tools::Context;
use key::{LockKey, keys_of};

/// How often one who waits looks whether to go on waiting.
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// How often a place is looked up again that others outside of Orion change all the time.
const TRIES: usize = 8;

/// What is being changed. Held for a moment only, to add and to take out.
static TAKEN: Mutex<Vec<LockedPath>> = Mutex::new(Vec::new());
static FREED: Condvar = Condvar::new();

/// What one call at a time changes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum LockedPath {
    /// A place with all below it.
    Place(LockKey),
    /// A path that leads nowhere that is lent: whoever named it is refused.
    Nowhere(DevicePath),
    /// What an earlier call did.
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

/// The turn of one call; over when it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct PathLock(Vec<LockedPath>);

/// Waits until nobody else changes any of these paths, nor any that must be as it was shown, and
/// compares those then. All of a call's are asked for at once, so that no two calls wait for each other.
///
/// # Errors
/// `CANCELLED` or `TIMEOUT`, and `PRECONDITION_FAILED` where something is not as it was shown.
pub(crate) fn lock_paths(
    context: &Context<'_>,
    paths: &[&DevicePath],
) -> Result<PathLock, ToolError> {
    take(context, paths, None)
}

/// The same, for taking back a call.
pub(super) fn lock_paths_to_undo(
    context: &Context<'_>,
    call: CallId,
    paths: &[DevicePath],
) -> Result<PathLock, ToolError> {
    take(context, &paths.iter().collect::<Vec<_>>(), Some(call))
}

fn take(
    context: &Context<'_>,
    paths: &[&DevicePath],
    call: Option<CallId>,
) -> Result<PathLock, ToolError> {
    let shown = context.expected.iter().flat_map(|expected| &expected.touches.paths);
    let paths: Vec<&DevicePath> =
        paths.iter().copied().chain(shown.map(|touch| &touch.path)).collect();
    let look = || -> Vec<LockedPath> {
        let taken = paths.iter().flat_map(|path| {
            let places = keys_of(path, context.roots);
            if places.is_empty() {
                return vec![LockedPath::Nowhere((*path).clone())];
            }
            places.into_iter().map(LockedPath::Place).collect()
        });
        taken.chain(call.map(LockedPath::Call)).collect()
    };
    let mut wanted = look();
    for _ in 0..TRIES {
        let turn = wait(context, wanted)?;
        wanted = look();
        // Whoever was waited for may have moved what is on the way.
        if wanted == turn.0 {
            context.compare()?;
            return Ok(turn);
        }
    }
    let turn = wait(context, wanted)?;
    context.compare()?;
    Ok(turn)
}

fn wait(context: &Context<'_>, wanted: Vec<LockedPath>) -> Result<PathLock, ToolError> {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    while wanted.iter().any(|wanted| taken.iter().any(|taken| taken.excludes(wanted))) {
        context.check()?;
        taken = FREED.wait_timeout(taken, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
    }
    taken.extend(wanted.iter().cloned());
    Ok(PathLock(wanted))
}

impl Drop for PathLock {
    fn drop(&mut self) {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
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
