//! Tasks: calls that people schedule. Each time that comes is claimed in the database, and then makes one call as the
//! person who made the task, with that person's rights at that moment.
//!
//! Not here: deciding the calls. They go through the pipeline like any other.

mod due;
mod times;

pub use due::{recover, run_due};
pub use times::{Times, own_zone, text_of};

use crate::store::{ScheduleRow, Store, StoreError};
use orion_domain::{Caller, Role};

/// The fewest characters of a prefix of an id.
pub const MIN_PREFIX: usize = 8;

/// Returns the task whose id begins like this: the caller's own, or anybody's for an admin.
///
/// # Errors
/// [`StoreError::NotFound`]; [`StoreError::Ambiguous`] where several ids begin like this.
pub async fn find(store: &Store, caller: &Caller, prefix: &str) -> Result<ScheduleRow, StoreError> {
    if prefix.len() < MIN_PREFIX {
        return Err(StoreError::NotFound);
    }
    let whose = (caller.role != Role::Admin).then_some(&caller.user);
    let mut found = store.schedules(whose, prefix).await?;
    if found.len() > 1 {
        return Err(StoreError::Ambiguous);
    }
    found.pop().ok_or(StoreError::NotFound)
}
