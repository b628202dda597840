//! Sets a stop, and ends the calls and plans that it covers as a cancel ends them.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{TryStreamExt as _, stream};
use orion_domain::{CallState, ErrorCode, PlanId, ToolError};

use super::refusal::sentence;
use crate::clock::now_ms;
use crate::pipeline::reconcile::UNKNOWN_WINDOW_MS;
use crate::pipeline::view::CallView;
use crate::pipeline::{Pipeline, cancel, plan};
use crate::store::{CallRow, PlanRow, StopRow, StoreError};

/// How many calls are cancelled at once.
const MAX_CONCURRENT: usize = 64;

/// How long a request waits until everything that its stop covers was cancelled. The rest follows in the background.
const END_TIMEOUT: Duration = Duration::from_secs(10);

/// How many calls and plans a stop ended. A call that runs ends with the report of its device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndedCalls {
    /// The calls.
    pub calls: u32,
    /// The plans.
    pub plans: u32,
}

/// Sets a stop: from its return on, no call that it covers is sent. Then ends what runs and waits. Returns the
/// stop that is set, whether it is this one, and what it ended. None if that takes longer and goes on in the
/// background. A stop that is set already ends again what it covers.
///
/// # Errors
/// The database cannot be written. Nothing is stopped if it was the stop that could not be stored.
pub async fn set(
    pipeline: &Arc<Pipeline>,
    stop: StopRow,
) -> Result<(StopRow, bool, Option<EndedCalls>), StoreError> {
    let (stop, is_new) = pipeline.stops.add(&pipeline.store, stop).await?;
    tracing::warn!(by = %stop.by, scope = ?stop.scope, is_new, "calls are stopped");
    let (shared, set) = (Arc::clone(pipeline), stop.clone());
    let ending = pipeline.tasks.calls.spawn(async move { end_covered(&shared, &set).await });
    let ended = match tokio::time::timeout(END_TIMEOUT, ending).await {
        Ok(ended) => Some(ended.unwrap_or(Err(StoreError::Unavailable))?),
        Err(_) => None,
    };
    Ok((stop, is_new, ended))
}

/// Ends what the stored stops cover, for a backend that died before it had ended everything.
///
/// # Errors
/// The database cannot be read or written.
pub async fn end_all_covered(pipeline: &Pipeline) -> Result<(), StoreError> {
    for stop in pipeline.store.stops().await? {
        end_covered(pipeline, &stop).await?;
    }
    Ok(())
}

/// Ends a call that waits, if a stop was set since it was decided.
pub(in crate::pipeline) async fn end_if_covered(
    pipeline: &Pipeline,
    view: CallView,
) -> Result<CallView, StoreError> {
    if view.state.is_closed() || pipeline.stops.is_empty() {
        return Ok(view);
    }
    let row = pipeline.store.call(view.call).await?;
    let device = row.device.as_ref().map(|(id, _)| *id);
    match pipeline.stop_of(&row.caller.user, device) {
        Some(stop) => cancel::end(pipeline, &stop.by, row, message(&stop)).await,
        None => Ok(view),
    }
}

/// Ends a plan that was made, if a stop was set since its steps were evaluated. Returns the stop.
pub(in crate::pipeline) async fn end_plan_if_covered(
    pipeline: &Pipeline,
    plan: &PlanRow,
) -> Result<Option<ToolError>, StoreError> {
    let user = &plan.caller.user;
    let stop = plan.steps.iter().find_map(|step| pipeline.stop_of(user, Some(step.device.0)));
    let Some(stop) = stop else { return Ok(None) };
    end_plans(pipeline, &stop).await?;
    Ok(Some(super::refusal(&stop)))
}

async fn end_covered(pipeline: &Pipeline, stop: &StopRow) -> Result<EndedCalls, StoreError> {
    let plans = end_plans(pipeline, stop).await?;
    let (mut calls, mut after) = (0_u32, None);
    loop {
        let since = now_ms() - UNKNOWN_WINDOW_MS;
        let page = pipeline.store.covered_calls(&stop.scope, after, since).await?;
        let Some(last) = page.last() else { return Ok(EndedCalls { calls, plans }) };
        after = Some(last.id);
        calls = calls.saturating_add(u32::try_from(page.len()).unwrap_or(u32::MAX));
        // The stop is stored, so programs need not run until it is written at each call.
        let is_sent = |call: &&CallRow| {
            matches!(call.state, CallState::Dispatched | CallState::Running | CallState::Unknown)
        };
        for call in page.iter().filter(is_sent) {
            cancel::send_cancel(pipeline, call.id, call.device.as_ref().map(|(id, _)| *id));
        }
        stream::iter(page.into_iter().map(Ok))
            .try_for_each_concurrent(MAX_CONCURRENT, |call| async move {
                cancel::end(pipeline, &stop.by, call, message(stop)).await.map(drop)
            })
            .await?;
    }
}

async fn end_plans(pipeline: &Pipeline, stop: &StopRow) -> Result<u32, StoreError> {
    let mut count = 0_u32;
    loop {
        let plans = pipeline.store.stop_plans(stop, now_ms()).await?;
        if plans.is_empty() {
            return Ok(count);
        }
        for id in plans {
            plan::end_stopped(pipeline, id, &step_error(stop, id)).await?;
            count = count.saturating_add(1);
        }
    }
}

/// Returns the message of a call that ends before it was sent.
fn message(stop: &StopRow) -> String {
    format!("{}. The call did not run.", sentence(stop))
}

fn step_error(stop: &StopRow, plan: PlanId) -> ToolError {
    ToolError::new(ErrorCode::Cancelled, message(stop)).with("plan_id", plan.to_string())
}
