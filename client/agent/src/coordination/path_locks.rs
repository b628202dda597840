//! The locked paths of all calls.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use orion_domain::{CallId, DevicePath, ToolError};
use serde::{Deserialize, Serialize};

use super::{Question, ask};

/// How often a waiting call checks whether to stop.
const CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// All locked paths. The mutex is held only to add and to remove entries.
static LOCKED: Mutex<Vec<LockedPath>> = Mutex::new(Vec::new());
static FREED: Condvar = Condvar::new();

/// Device and inode number.
pub(crate) type FileId = (u64, u64);

/// The key of one location.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LockKey {
    /// Each folder on the path with the name in it; the last pair is the location itself. Missing names
    /// follow the deepest existing folder, joined by `/`.
    pub(crate) way: Vec<(FileId, String)>,
    /// The entry that has the name, which may have other names as well. `None` if the name is free.
    pub(crate) thing: Option<FileId>,
}

impl LockKey {
    /// Returns whether a change of one location may change the other or its contents.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
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

/// Something that only one call at a time may change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum LockedPath {
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

/// The locked paths of one call, released on drop.
#[derive(Debug)]
#[must_use]
pub(crate) struct HeldPaths(Vec<LockedPath>);

impl HeldPaths {
    /// Returns the paths.
    pub(crate) fn paths(&self) -> &[LockedPath] {
        &self.0
    }
}

/// Waits until no other call holds any of these paths, and holds them. Takes all at once, so that no two
/// calls wait for each other. `check` says whether to go on waiting.
///
/// # Errors
/// Those of `check`.
pub(crate) fn hold(
    wanted: Vec<LockedPath>,
    check: &dyn Fn() -> Result<(), ToolError>,
) -> Result<HeldPaths, ToolError> {
    if let Some(answer) = ask(|| Question::Lock(wanted.clone())) {
        return answer.done().map(|()| HeldPaths(wanted));
    }
    let mut taken = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
    while wanted.iter().any(|wanted| taken.iter().any(|taken| taken.excludes(wanted))) {
        check()?;
        taken = FREED.wait_timeout(taken, CHECK_INTERVAL).unwrap_or_else(PoisonError::into_inner).0;
    }
    taken.extend(wanted.iter().cloned());
    Ok(HeldPaths(wanted))
}

impl Drop for HeldPaths {
    fn drop(&mut self) {
        let mine = std::mem::take(&mut self.0);
        if ask(|| Question::Unlock(mine.clone())).is_some() {
            return;
        }
        let mut taken = LOCKED.lock().unwrap_or_else(PoisonError::into_inner);
        for mine in &mine {
            // A call may name a path twice.
            if let Some(index) = taken.iter().position(|taken| taken == mine) {
                taken.swap_remove(index);
            }
        }
        drop(taken);
        FREED.notify_all();
    }
}
