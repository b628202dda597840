//! A person's vote on a plan, and what follows from it.

use std::sync::Arc;

use orion_domain::{Caller, Digest, ErrorCode, ToolError, UserName};
use serde_json::json;

use super::end::close_waiting;
use super::outdated::end_if_outdated;
use super::{publish, run};
use crate::clock::now_ms;
use crate::pipeline::{Pipeline, confirm};
use crate::store::{
    DecideError, DecidePlanError, NewPlanVote, PlanRow, PlanState, StoreError, VoteHabit,
};
use crate::webauthn::PasskeyProof;

/// The maximum length of a stored reason, in characters.
const MAX_REASON_CHARS: usize = 1000;

/// Applies a person's vote on a plan, with the hash of what they saw and what they signed. When enough people have approved, the
/// plan starts in the background.
///
/// # Errors
/// See [`DecidePlanError`]; nothing was approved then.
pub async fn decide(
    pipeline: &Arc<Pipeline>,
    by: &Caller,
    id: &str,
    hash: Digest,
    yes: bool,
    reason: &str,
    passkey: Option<PasskeyProof>,
) -> Result<PlanRow, DecidePlanError> {
    let plan = pipeline.store.find_plan(id).await?;
    let vote = NewPlanVote {
        plan: plan.id,
        hash,
        by: by.clone(),
        yes,
        reason: reason.chars().take(MAX_REASON_CHARS).collect(),
        at: now_ms(),
        habit: VoteHabit { details_shown: None, budget: confirm::budget(pipeline) },
        passkey,
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
    if yes {
        end_if_outdated(pipeline, &plan, &vote).await?;
    }
    let state = match pipeline.store.decide_plan(vote).await {
        Ok(state) => state,
        Err(error) => {
            if let DecidePlanError::Step {
                number,
                error:
                    DecideError::Role { .. }
                    | DecideError::OwnCall(_)
                    | DecideError::PasskeyMissing
                    | DecideError::OtherSigned
                    | DecideError::PasskeyGone,
                ..
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
    Ok(pipeline.store.plan(plan.id).await?)
}

fn rejected(by: &UserName, reason: &str) -> ToolError {
    let message = format!("{by} did not approve the plan of this call: {reason}");
    ToolError::new(ErrorCode::ApprovalRejected, message.trim_end_matches([':', ' ']))
}
