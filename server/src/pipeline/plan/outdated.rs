//! Ends an open plan that can no longer run as it was shown, when a person approves it.

use std::sync::Arc;

use orion_domain::{Caller, Digest, Role};

use super::end::close_waiting;
use super::run::context;
use super::{another, is_as_shown, publish};
use crate::clock::now_ms;
use crate::pipeline::Pipeline;
use crate::pipeline::evaluate::evaluate;
use crate::pipeline::reauthorize;
use crate::store::{DecidePlanError, PlanRow, PlanState, StoreError};

/// Ends an open plan, if one of its steps can no longer run as it was shown and this person could deny the plan.
///
/// # Errors
/// [`DecidePlanError::Outdated`] if the plan was ended; the database cannot be read or written.
pub(super) async fn end_if_outdated(
    pipeline: &Arc<Pipeline>,
    plan: &PlanRow,
    by: &Caller,
    hash: Digest,
) -> Result<(), DecidePlanError> {
    let may_end = by.user == plan.caller.user || by.role >= Role::Operator;
    if plan.state != PlanState::Open || plan.hash != hash || !may_end {
        return Ok(());
    }
    let Some(step) = outdated_step(pipeline, plan).await? else { return Ok(()) };
    // Somebody may have decided since.
    if !pipeline.store.expire_plan(plan.id, now_ms()).await? {
        return Ok(());
    }
    tracing::info!(plan = %plan.id, step, "a plan is outdated");
    close_waiting(pipeline, plan, &another()).await?;
    publish(pipeline, plan);
    Err(DecidePlanError::Outdated(step))
}

/// Returns the number of the first step whose device has another policy than it was shown with. The first one if the
/// requester has another role.
async fn outdated_step(pipeline: &Pipeline, plan: &PlanRow) -> Result<Option<u32>, StoreError> {
    let requester = reauthorize::person(pipeline, &plan.caller, None).await?;
    if requester.is_ok_and(|now| now.role != plan.caller.role) {
        return Ok(Some(1));
    }
    for step in &plan.steps {
        let is_as_shown = match evaluate(pipeline, context(plan, step)?).await? {
            Ok(evaluated) => is_as_shown(&evaluated, step),
            // A stop, a quarantine or a limit may be over at the step's turn. Under another policy the step does not
            // run in any case.
            Err(stopped) => stopped
                .target
                .is_none_or(|target| target.device.policy.version == step.policy_version),
        };
        if !is_as_shown {
            return Ok(Some(step.number));
        }
    }
    Ok(None)
}
