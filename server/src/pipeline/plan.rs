//! Several calls as one: each judged and previewed like a call, shown together, approved once by the
//! hash of all of it, and run in order; what is not as it was shown is not done.

mod create;
mod run;

use std::sync::Arc;

use orion_domain::{CallRequest, Caller, Digest, ErrorCode, PlanId, ToolError, UserName};
use serde_json::json;

use super::{CallView, audit};
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::store::{
    ClosedBy, DecideError, DecidePlanError, NewPlanVote, PlanRow, PlanState, StepState, StoreError,
};

pub use create::{MAX_PLAN_BYTES, create};
pub use run::recover;

/// The longest reason that is kept, in characters.
const REASON: usize = 1000;

/// A plan as a person asks for it. Nothing in it has been checked.
#[derive(Debug, Clone, PartialEq)]
pub struct PlanRequest {
    /// The steps in order; each names its device.
    pub steps: Vec<CallRequest>,
    /// Whether it goes on where a step fails.
    pub keep_going: bool,
}

/// Why a plan is not made. Nobody is asked.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum PlanError {
    /// One step cannot be.
    #[error("step {number}: {error}")]
    Step {
        /// Which, from 1.
        number: u32,
        /// The tool, as it was asked for.
        tool: String,
        /// The device, as it was asked for.
        device: String,
        /// Why.
        error: Box<ToolError>,
    },
    /// The plan as a whole cannot be.
    #[error("{0}")]
    Plan(Box<ToolError>),
    /// The record cannot be kept.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Takes a person's word on a plan, by the hash of what they saw. When enough have said yes it
/// starts, and goes on by itself.
///
/// # Errors
/// See [`DecidePlanError`]; nothing was decided then.
pub async fn decide(
    backend: &Arc<Backend>,
    by: &Caller,
    id: &str,
    hash: Digest,
    yes: bool,
    reason: &str,
) -> Result<PlanRow, DecidePlanError> {
    let plan = backend.store.plan(id).await?;
    let vote = NewPlanVote {
        plan: plan.id,
        hash,
        by: by.clone(),
        yes,
        reason: reason.chars().take(REASON).collect(),
        at: now_ms(),
    };
    let shared = Arc::clone(backend);
    let task = backend.calls.spawn(async move { take(&shared, plan, vote).await });
    task.await.unwrap_or(Err(DecidePlanError::Store(StoreError::Unavailable)))
}

async fn take(
    backend: &Arc<Backend>,
    plan: PlanRow,
    vote: NewPlanVote,
) -> Result<PlanRow, DecidePlanError> {
    let (by, role, yes) = (vote.by.user.clone(), vote.by.role, vote.yes);
    let reason = vote.reason.clone();
    let state = match backend.store.decide_plan(vote).await {
        Ok(state) => state,
        Err(error) => {
            if let DecidePlanError::Step {
                number,
                error: DecideError::Role(_) | DecideError::OwnCall(_),
                ..
            } = &error
                && let Some(step) = plan.steps.iter().find(|step| step.number == *number)
            {
                // Somebody tried to say yes who may not.
                let body = json!({"plan_id": plan.id, "by": by, "role": role});
                let store = &backend.store;
                store.audit_call_event("approval.refused", step.call, body, now_ms()).await?;
            }
            return Err(error);
        }
    };
    publish(backend, &plan);
    match (state, yes) {
        (PlanState::Running, true) => {
            let task = Arc::clone(backend);
            let id = plan.id;
            backend.calls.spawn(async move { run::run(&task, id).await });
        }
        (PlanState::Denied, _) => close_waiting(backend, &plan, &rejected(&by, &reason)).await?,
        _ => {}
    }
    Ok(backend.store.plan(&plan.id.to_string()).await?)
}

fn rejected(by: &UserName, reason: &str) -> ToolError {
    let message = format!("{by} did not approve the plan of this call: {reason}");
    ToolError::new(ErrorCode::ApprovalRejected, message.trim_end_matches([':', ' ']))
}

/// Ends the plans that nobody answered in time, and the calls that waited.
///
/// # Errors
/// The record cannot be kept.
pub async fn expire(backend: &Backend, now_ms: i64) -> Result<usize, StoreError> {
    let expired = backend.store.expire_plans(now_ms).await?;
    let count = expired.len();
    for id in expired {
        let plan = backend.store.plan(&id.to_string()).await?;
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "Nobody answered the plan of this call in time. Make the plan again to be asked again.",
        );
        // One that cannot be ended must not keep the others waiting; a restart ends it.
        if let Err(error) = close_waiting(backend, &plan, &error).await {
            tracing::error!(plan = %id, %error, "the calls of a plan that ran out could not be ended");
        }
        publish(backend, &plan);
    }
    Ok(count)
}

/// Ends the calls of a plan that wait still.
async fn close_waiting(
    backend: &Backend,
    plan: &PlanRow,
    error: &ToolError,
) -> Result<(), StoreError> {
    let asked = plan.steps.iter().filter(|step| plan.question(step).is_some());
    for step in asked {
        close_unsent(backend, &step.call.to_string(), error.clone()).await?;
    }
    Ok(())
}

/// Ends a call that was not sent; one that was stays its device's to end.
async fn close_unsent(backend: &Backend, call: &str, error: ToolError) -> Result<(), StoreError> {
    let row = backend.store.call(call).await?;
    let id = row.id;
    let close = audit::closing(&CallView::from(row), error);
    if backend.store.close_call(close, ClosedBy::BackendUnsent).await? {
        backend.bus.publish(Change::CallClosed(id));
    }
    Ok(())
}

/// Wakes those who follow a plan or its questions.
fn publish(backend: &Backend, plan: &PlanRow) {
    backend.bus.publish(Change::Plan(plan.id));
    for question in &plan.questions {
        backend.bus.publish(Change::Approval(question.id, question.call));
    }
}

/// A step that was never begun, in the words that its call ends with.
fn skipped(plan: PlanId, why: &str) -> ToolError {
    ToolError::new(ErrorCode::Cancelled, format!("This step of the plan was not begun: {why}."))
        .with("plan_id", plan.to_string())
}

/// Whether a step's end lets the plan go on by itself.
const fn is_good(state: StepState) -> bool {
    matches!(state, StepState::Succeeded)
}
