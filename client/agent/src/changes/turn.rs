//! Those who change one path take turns, so that each begins from what the one before it left. Others
//! do not wait for them.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use orion_domain::{DevicePath, ToolError};

use crate::tools::Context;

/// How often one who waits looks whether to go on waiting.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The paths that are being changed. Held for a moment only, to add and to take out.
static TAKEN: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
static FREED: Condvar = Condvar::new();

/// The turn of one call; over when it is dropped.
#[derive(Debug)]
#[must_use]
pub(crate) struct Turn(Vec<String>);

/// Waits until nobody else changes any of these paths. All of a call's are asked for at once, so that
/// no two calls wait for each other.
///
/// # Errors
/// `CANCELLED` or `TIMEOUT`.
pub(crate) fn turn(context: &Context<'_>, paths: &[&DevicePath]) -> Result<Turn, ToolError> {
    turn_of(context, paths.iter().map(ToString::to_string).collect())
}

/// The same by any names.
pub(super) fn turn_of(context: &Context<'_>, names: Vec<String>) -> Result<Turn, ToolError> {
    let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
    while names.iter().any(|name| taken.contains(name)) {
        context.check()?;
        taken = FREED.wait_timeout(taken, LOOK_EVERY).unwrap_or_else(PoisonError::into_inner).0;
    }
    taken.extend(names.iter().cloned());
    Ok(Turn(names))
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut taken = TAKEN.lock().unwrap_or_else(PoisonError::into_inner);
        for name in &self.0 {
            taken.remove(name);
        }
        drop(taken);
        FREED.notify_all();
    }
}
