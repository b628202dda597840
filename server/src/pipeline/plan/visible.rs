//! What a person sees of plans, the same for every way in: their own plans, or every plan for operators and
//! admins.

use std::time::Duration;

use orion_domain::{Caller, Role};
use tokio::time::{Instant, sleep_until};

use crate::pipeline::Pipeline;
use crate::store::{PlanRow, StoreError};

/// Maximum time that one request waits for a plan's next change.
pub const MAX_WAIT: Duration = Duration::from_secs(60);

/// Returns a plan that this person may see. `id` may be shortened.
///
/// # Errors
/// [`StoreError::NotFound`]: there is no such plan, or it is another person's. The database cannot be read.
pub async fn visible(
    pipeline: &Pipeline,
    caller: &Caller,
    id: &str,
) -> Result<PlanRow, StoreError> {
    let row = pipeline.store.find_plan(id).await?;
    if row.caller.user != caller.user && caller.role < Role::Operator {
        return Err(StoreError::NotFound);
    }
    Ok(row)
}

/// Returns the plans that this person may see, the newest first; with `open_only` those that wait or run.
///
/// # Errors
/// The database cannot be read.
pub async fn all_visible(
    pipeline: &Pipeline,
    caller: &Caller,
    open_only: bool,
) -> Result<Vec<PlanRow>, StoreError> {
    let user = (caller.role < Role::Operator).then_some(&caller.user);
    pipeline.store.plans(user, open_only).await
}

/// Waits until a plan is past this revision or has ended, for [`MAX_WAIT`] at most, or until the backend
/// stops. Returns its last state.
///
/// # Errors
/// As [`visible`].
pub async fn wait_for_change(
    pipeline: &Pipeline,
    caller: &Caller,
    id: &str,
    known_revision: u32,
    wait: Duration,
) -> Result<PlanRow, StoreError> {
    let deadline = Instant::now() + wait.min(MAX_WAIT);
    let first = visible(pipeline, caller, id).await?;
    let mut changes = pipeline.bus.watch_plan(first.id);
    let id = first.id.to_string();
    loop {
        let row = visible(pipeline, caller, &id).await?;
        if row.revision > known_revision || row.ended_at.is_some() || wait.is_zero() {
            return Ok(row);
        }
        tokio::select! {
            () = pipeline.tasks.shutdown.cancelled() => return Ok(row),
            () = sleep_until(deadline) => return Ok(row),
            () = changes.changed() => {}
        }
    }
}
