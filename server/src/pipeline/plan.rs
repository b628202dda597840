//! Plans: several calls as one. Each step is evaluated and previewed like a call, and all are shown
//! together. One approval covers the hash of the whole plan. The steps run in order; a step that differs
//! from what was shown does not run.

mod create;
mod run;
mod visible;

use std::sync::Arc;

use orion_domain::{CallRequest, Caller, Digest, ErrorCode, PlanId, ToolError, UserName};
use serde_json::json;

use super::authorize::EvaluatedCall;
use super::view::CallView;
use super::{Pipeline, audit};
use crate::bus::Change;
use crate::clock::now_ms;
use crate::store::{
    DecideError, DecidePlanError, NewPlanVote, PlanRow, PlanState, StepRow, StepState, StoreError,
};

pub use create::{MAX_PLAN_BYTES, create};
pub use run::recover;
pub use visible::{MAX_WAIT, all_visible, visible, wait_for_change};

/// The maximum length of a stored reason, in characters.
const MAX_REASON_CHARS: usize = 1000;

/// A requested plan. Nothing in it has been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRequest {
    /// The steps in order; each names its device.
    pub steps: Vec<CallRequest>,
    /// Whether the plan continues after a step fails.
    pub keep_going: bool,
}

/// Why a plan is not made. Nobody is asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// A step is not possible.
    #[error("step {number}: {error}")]
    Step {
        /// The number of the step, from 1.
        number: u32,
        /// The tool, as requested.
        tool: String,
        /// The device, as requested.
        device: String,
        /// Why the step is not possible.
        error: Box<ToolError>,
    },
    /// The plan as a whole is not possible.
    #[error("{0}")]
    Plan(Box<ToolError>),
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Applies a person's vote on a plan, with the hash of what they saw. When enough people have approved, the
/// plan starts in the background.
///
/// # Errors
/// See [`DecidePlanError`]; nothing was decided then.
pub async fn decide(
    pipeline: &Arc<Pipeline>,
    by: &Caller,
    id: &str,
    hash: Digest,
    yes: bool,
    reason: &str,
) -> Result<PlanRow, DecidePlanError> {
    let plan = pipeline.store.plan(id).await?;
    let vote = NewPlanVote {
        plan: plan.id,
        hash,
        by: by.clone(),
        yes,
        reason: reason.chars().take(MAX_REASON_CHARS).collect(),
        at: now_ms(),
    };
    let shared = Arc::clone(pipeline);
    let task = pipeline.tasks.calls.spawn(async move { take(&shared, plan, vote).await });
    task.await.unwrap_or(Err(DecidePlanError::Store(StoreError::Unavailable)))
}

async fn take(
    pipeline: &Arc<Pipeline>,
    plan: PlanRow,
    vote: NewPlanVote,
) -> Result<PlanRow, DecidePlanError> {
    let (by, role, yes) = (vote.by.user.clone(), vote.by.role, vote.yes);
    let reason = vote.reason.clone();
    let state = match pipeline.store.decide_plan(vote).await {
        Ok(state) => state,
        Err(error) => {
            if let DecidePlanError::Step {
                number,
                error: DecideError::Role { .. } | DecideError::OwnCall(_),
            } = &error
                && let Some(step) = plan.steps.iter().find(|step| step.number == *number)
            {
                // A person tried to approve without being allowed to.
                let body = json!({"plan_id": plan.id, "by": by, "role": role});
                let store = &pipeline.store;
                store.audit_call_event("approval.refused", step.call, body, now_ms()).await?;
            }
            return Err(error);
        }
    };
    publish(pipeline, &plan);
    match (state, yes) {
        (PlanState::Running, true) => {
            let task = Arc::clone(pipeline);
            let id = plan.id;
            pipeline.tasks.calls.spawn(async move { run::run(&task, id).await });
        }
        (PlanState::Denied, _) => close_waiting(pipeline, &plan, &rejected(&by, &reason)).await?,
        _ => {}
    }
    Ok(pipeline.store.plan(&plan.id.to_string()).await?)
}

fn rejected(by: &UserName, reason: &str) -> ToolError {
    let message = format!("{by} did not approve the plan of this call: {reason}");
    ToolError::new(ErrorCode::ApprovalRejected, message.trim_end_matches([':', ' ']))
}

/// Ends the plans that nobody answered in time, and their waiting calls.
///
/// # Errors
/// The database cannot be written.
pub async fn expire(pipeline: &Pipeline, now_ms: i64) -> Result<usize, StoreError> {
    let expired = pipeline.store.expire_plans(now_ms).await?;
    let count = expired.len();
    for id in expired {
        let plan = pipeline.store.plan(&id.to_string()).await?;
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "The approval request of the plan expired. The call did not run. Make the plan again to request approval.",
        );
        // A plan that cannot be ended must not block the others; a restart ends it.
        if let Err(error) = close_waiting(pipeline, &plan, &error).await {
            tracing::error!(plan = %id, %error, "the calls of a plan that ran out could not be ended");
        }
        publish(pipeline, &plan);
    }
    Ok(count)
}

/// Ends the calls of a plan that still wait.
async fn close_waiting(
    pipeline: &Pipeline,
    plan: &PlanRow,
    error: &ToolError,
) -> Result<(), StoreError> {
    let asked = plan.steps.iter().filter(|step| plan.question(step).is_some());
    for step in asked {
        close_unsent(pipeline, &step.call.to_string(), error.clone()).await?;
    }
    Ok(())
}

/// Ends a call that was not sent. A sent call ends with its device's result.
async fn close_unsent(pipeline: &Pipeline, call: &str, error: ToolError) -> Result<(), StoreError> {
    let row = pipeline.store.call(call).await?;
    audit::close_unsent(pipeline, &CallView::from(row), error).await.map(drop)
}

/// Wakes the watchers of a plan and of its approval requests.
fn publish(pipeline: &Pipeline, plan: &PlanRow) {
    pipeline.bus.publish(Change::Plan(plan.id));
    for question in &plan.questions {
        pipeline.bus.publish(Change::Approval(question.id, question.call));
    }
}

/// Returns the error of a step that did not start.
fn skipped(plan: PlanId, why: &str) -> ToolError {
    ToolError::new(ErrorCode::Cancelled, format!("This step of the plan was not begun: {why}."))
        .with("plan_id", plan.to_string())
}

/// Returns whether the plan continues after this state of a step.
const fn is_good(state: StepState) -> bool {
    matches!(state, StepState::Succeeded)
}

/// Returns whether a step is still the call that was shown.
pub(super) fn is_as_shown(evaluated: &EvaluatedCall, step: &StepRow) -> bool {
    evaluated.parsed.arguments.as_bytes() == step.arguments
        && evaluated.touches() == step.touches
        && evaluated.target.device.policy.version == step.policy_version
}

/// Returns the error for a step that is not the call that was shown.
pub(super) fn another() -> ToolError {
    ToolError::new(
        ErrorCode::ApprovalExpired,
        "What was approved is not what would run: the device's permissions or places, or the role of whoever asked, have changed since. Make the plan again to be asked again.",
    )
}
