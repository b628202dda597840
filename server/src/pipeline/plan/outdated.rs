//! Ends an open plan that can no longer run as it was shown, when a person approves it.

use std::sync::Arc;

use super::end::end_expired;
use super::run::context;
use super::{another, is_as_shown};
use crate::clock::now_ms;
use crate::pipeline::Pipeline;
use crate::pipeline::evaluate::evaluate;
use crate::pipeline::reauthorize;
use crate::store::{DecidePlanError, NewPlanVote, PlanRow, PlanState, StepRow, StoreError};

/// Ends an open plan if one of its steps can no longer run as it was shown. A person who may see a plan may deny
/// it, and so may end it this way.
///
/// # Errors
/// [`DecidePlanError::Outdated`] if the plan was ended; the database cannot be read or written.
pub(super) async fn end_if_outdated(
    pipeline: &Arc<Pipeline>,
    plan: &PlanRow,
    vote: &NewPlanVote,
) -> Result<(), DecidePlanError> {
    if plan.state != PlanState::Open || plan.hash != vote.hash {
        return Ok(());
    }
    let Some(step) = outdated_step(pipeline, plan).await? else { return Ok(()) };
    // Somebody may have decided since.
    if !pipeline.store.expire_outdated_plan(plan.id, &vote.by.user, step, now_ms()).await? {
        return Ok(());
    }
    tracing::info!(plan = %plan.id, step, "a plan can no longer run as it was shown");
    end_expired(pipeline, plan, &another()).await;
    Err(DecidePlanError::Outdated(step))
}

/// Returns the number of the first step that can no longer run as it was shown. The first one if the requester has
/// another role or none.
async fn outdated_step(pipeline: &Pipeline, plan: &PlanRow) -> Result<Option<u32>, StoreError> {
    let requester = reauthorize::person(pipeline, &plan.caller, None).await?;
    if !requester.is_ok_and(|now| now.role == plan.caller.role) {
        return Ok(Some(1));
    }
    for step in &plan.steps {
        if !can_run_as_shown(pipeline, plan, step).await? {
            return Ok(Some(step.number));
        }
    }
    Ok(None)
}

async fn can_run_as_shown(
    pipeline: &Pipeline,
    plan: &PlanRow,
    step: &StepRow,
) -> Result<bool, StoreError> {
    let device = step.device.0;
    if pipeline.fleet.known(device).is_none_or(|known| known.has_ended()) {
        return Ok(false);
    }
    let is_as_shown = match evaluate(pipeline, context(plan, step)?).await? {
        Ok(evaluated) => is_as_shown(&evaluated, step),
        // A stop, a quarantine or a limit may be over at the step's turn. Under another policy, or without its tool, the
        // step does not run in any case.
        Err(stopped) => {
            stopped.target.is_some_and(|target| target.device.policy.version == step.policy_version)
        }
    };
    if !is_as_shown && pipeline.fleet.current(device).is_none() {
        // A device whose policy cannot be loaded denies everything until it can be.
        return Err(StoreError::Unavailable);
    }
    Ok(is_as_shown)
}
