//! Those who change one path take turns, and so do those who change what is in a folder and those who
//! change the folder: what was judged is what is changed, whatever the device's other calls do. Others
//! do not wait for them.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use orion_domain::{CallId, DevicePath, ToolError};

use crate::tools::Context;

/// How often one who waits looks whether to go on waiting.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// What is being changed. Held for a moment only, to add and to take out.
static TAKEN: Mutex<Vec<Taken>> = Mutex::new(Vec::new());
static FREED: Condvar = Condvar::new();

/// What one call at a time changes.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Taken {
    /// A path with all below it.
    Path(DevicePath),
    /// What an earlier call did.
    Call(CallId),
}

impl Taken {
    fn excludes(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Path(one), Self::Path(other)) => one.contains(other) || other.contains(one),
            (Self::Call(one), Self::Call(other)) => one == other,
            (Self::Path(_), Self::Call(_)) | (Self::Call(_), Self::Path(_)) => false,
        }
    }
}

/// The turn of one call; over when it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct Turn(Vec<Taken>);

/// Waits until nobody else changes any of these paths, nor any that must be as it was shown, and
/// compares those then. All of a call's are asked for at once, so that no two calls wait for each other.
///
/// # Errors
/// `CANCELLED` or `TIMEOUT`, and `PRECONDITION_FAILED` where something is not as it was shown.
pub(crate) fn turn(context: &Context<'_>, paths: &[&DevicePath]) -> Result<Turn, ToolError> {
    take(context, paths.iter().map(|path| Taken::Path((*path).clone())))
}

/// The same, for taking back a call.
pub(super) fn turn_to_undo(
    context: &Context<'_>,
    call: CallId,
    paths: &[DevicePath],
) -> Result<Turn, ToolError> {
    let paths = paths.iter().map(|path| Taken::Path(path.clone()));
    take(context, paths.chain([Taken::Call(call)]))
}

fn take(context: &Context<'_>, wanted: impl Iterator<Item = Taken>) -> Result<Turn, ToolError> {
    let shown = context.expected.iter().flat_map(|expected| &expected.touches.paths);
    let wanted: Vec<Taken> =
        wanted.chain(shown.map(|touch| Taken::Path(touch.path.clone()))).collect();
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    while wanted.iter().any(|wanted| taken.iter().any(|taken| taken.excludes(wanted))) {
        context.check()?;
        taken = FREED.wait_timeout(taken, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
    }
    taken.extend(wanted.iter().cloned());
    drop(taken);
    let turn = Turn(wanted);
    context.compare()?;
    Ok(turn)
}

impl Drop for Turn {
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
