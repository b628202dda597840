//! Ends the calls of a plan that were not sent: when nobody answered in time, when a step failed, and when
//! the plan was denied.

use orion_domain::{CallId, ErrorCode, PlanId, ToolError};

use super::publish;
use crate::pipeline::view::CallView;
use crate::pipeline::{Pipeline, audit};
use crate::store::{PlanRow, PlanState, StoreError};

/// Ends the plans that nobody answered in time, and their waiting calls.
///
/// # Errors
/// The database cannot be written.
pub async fn expire(pipeline: &Pipeline, now_ms: i64) -> Result<usize, StoreError> {
    let expired = pipeline.store.expire_plans(now_ms).await?;
    let count = expired.len();
    for id in expired {
        let plan = pipeline.store.plan(id).await?;
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "The approval request of the plan expired. The call did not run.",
        )
        .hint("make the plan again to request approval");
        end_expired(pipeline, &plan, &error).await;
    }
    Ok(count)
}

/// Ends the waiting calls of a plan that has run out or is outdated, and tells everybody who follows it. An error is logged
/// and not returned, so that it blocks no other plan; a restart ends these calls.
pub(super) async fn end_expired(pipeline: &Pipeline, plan: &PlanRow, error: &ToolError) {
    if let Err(error) = close_waiting(pipeline, plan, error).await {
        tracing::error!(plan = %plan.id, %error, "the calls of a plan that ran out or was outdated could not be ended");
    }
    publish(pipeline, plan);
}

/// Ends the waiting calls of a plan that was stopped before it ran. The calls of one that runs end with it.
///
/// # Errors
/// The database cannot be written.
pub(in crate::pipeline) async fn end_stopped(
    pipeline: &Pipeline,
    id: PlanId,
    error: &ToolError,
) -> Result<(), StoreError> {
    let plan = pipeline.store.plan(id).await?;
    if plan.state == PlanState::Cancelled {
        close_waiting(pipeline, &plan, error).await?;
    }
    publish(pipeline, &plan);
    Ok(())
}

/// Ends the calls of a plan that still wait.
pub(super) async fn close_waiting(
    pipeline: &Pipeline,
    plan: &PlanRow,
    error: &ToolError,
) -> Result<(), StoreError> {
    let asked = plan.steps.iter().filter(|step| plan.question(step).is_some());
    for step in asked {
        close_unsent(pipeline, step.call, error.clone()).await?;
    }
    Ok(())
}

/// Ends a call that was not sent. A sent call ends with its device's result.
pub(super) async fn close_unsent(
    pipeline: &Pipeline,
    call: CallId,
    error: ToolError,
) -> Result<(), StoreError> {
    let row = pipeline.store.call(call).await?;
    audit::close_unsent(pipeline, &CallView::from(row), error).await.map(drop)
}

/// Returns the error of a step that did not start.
pub(super) fn skipped(plan: PlanId, why: &str) -> ToolError {
    ToolError::new(ErrorCode::Cancelled, format!("This step of the plan was not begun: {why}."))
        .with("plan_id", plan.to_string())
}
