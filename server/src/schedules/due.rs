//! Makes the calls whose time has come.

use std::sync::Arc;

use orion_catalog::Tool as _;
use orion_catalog::tools::planned_call::PlannedCall;
use orion_catalog::tools::schedule_task::ScheduleTask;
use orion_domain::{CallId, Caller};

use super::times::Times;
use crate::clock::{new_uuid, now_ms};
use crate::pipeline::call::CallContext;
use crate::pipeline::{Pipeline, reauthorize};
use crate::planned_calls::{provenance, request};
use crate::store::{Parent, ScheduleRow, StoreError};

/// How long a call waits for a device that is not connected, where the backend's own calls do not wait. After a start of
/// the backend, devices come back one after the other.
const DEVICE_WAIT_MS: u64 = 10 * 60_000;

/// Claims every time that has come and makes its call. Of the times that passed while no backend ran, a task makes one
/// call. A time is left out while the call of the last time has not ended, and a task ends when its person may make no
/// calls any more. Returns how many calls are made.
///
/// # Errors
/// The database cannot be read or written. What was not claimed is still due.
pub async fn run_due(pipeline: &Arc<Pipeline>, now: i64) -> Result<usize, StoreError> {
    let mut made = 0;
    for row in pipeline.store.due_schedules(now).await? {
        let caller = caller(&row);
        if let Err(refusal) = reauthorize::person(pipeline, &caller, row.token).await? {
            if pipeline.store.end_schedule(&row, &refusal.message, now).await? {
                tracing::info!(task = %row.id, user = %row.user, "a task ended with the account or token that made it");
            }
            continue;
        }
        let next_at = next_of(&row, now);
        if is_under_way(pipeline, &row).await? {
            if pipeline.store.skip_schedule(&row, next_at, now).await? {
                tracing::info!(task = %row.id, "a time of a task was left out: its last call runs");
            }
            continue;
        }
        let call = CallId::new(new_uuid());
        if pipeline.store.claim_schedule(&row, call, next_at, now).await? {
            made += 1;
            make(pipeline, row, call);
        }
    }
    Ok(made)
}

/// Makes the calls of times that an earlier process claimed and did not make: their ids are known, so that none is made
/// twice. Returns how many.
///
/// # Errors
/// The database cannot be read.
pub async fn recover(pipeline: &Arc<Pipeline>) -> Result<usize, StoreError> {
    let claimed = pipeline.store.claimed_schedules().await?;
    let count = claimed.len();
    for row in claimed {
        if let Some(call) = row.last_call {
            make(pipeline, row, call);
        }
    }
    Ok(count)
}

/// Returns the next time after this moment. None where there is none: the time zone may be gone from the system.
fn next_of(row: &ScheduleRow, now: i64) -> Option<i64> {
    match Times::parse(&row.times, &row.timezone, row.created_at) {
        Ok(times) => times.next(now),
        Err(error) => {
            tracing::error!(task = %row.id, error = %error.message, "a task ends: its times cannot be read");
            None
        }
    }
}

async fn is_under_way(pipeline: &Pipeline, row: &ScheduleRow) -> Result<bool, StoreError> {
    let Some(call) = row.last_call else { return Ok(false) };
    match pipeline.store.call(call).await {
        Ok(call) => Ok(!call.state.is_closed()),
        // Its time was claimed a moment ago.
        Err(StoreError::NotFound) => Ok(row.last_at.is_some_and(|at| now_ms() - at < 60_000)),
        Err(error) => Err(error),
    }
}

/// Makes the call of a task in a task of its own, so that a slow one delays no other.
fn make(pipeline: &Arc<Pipeline>, row: ScheduleRow, call: CallId) {
    let shared = Arc::clone(pipeline);
    pipeline.tasks.calls.spawn(async move {
        let task = row.id;
        match shared.run(context(&shared, row, call)).await {
            Ok(view) => {
                tracing::info!(%task, %call, state = view.state.as_str(), "a task made its call");
            }
            // It is made at the next start.
            Err(error) => tracing::error!(%task, %call, %error, "a task could not make its call"),
        }
    });
}

fn caller(row: &ScheduleRow) -> Caller {
    Caller { user: row.user.clone(), role: row.role, conversation: None }
}

/// Returns the call of a task. The person is looked at again, and has no higher role than when the task was made.
fn context(pipeline: &Pipeline, row: ScheduleRow, call: CallId) -> CallContext {
    let caller = caller(&row);
    let ScheduleRow { id, tool, device, arguments, tainted, token, .. } = row;
    let mut request = request(&PlannedCall { tool, device, arguments });
    if pipeline.config.queue_time(&request).is_none() {
        request.queue = Some(true);
        request.queue_ms = Some(DEVICE_WAIT_MS);
    }
    CallContext {
        id: call,
        is_fresh: false,
        provenance: provenance(tainted, id, ScheduleTask::NAME),
        parent: Some(Parent::Schedule(id)),
        token,
        background: true,
        ..CallContext::new(caller, request)
    }
}
