//! Makes a plan from a list of calls. Each step is evaluated as a call of that person would be, then
//! previewed. One step that is not possible rejects the whole plan.

mod bind;
mod evaluate;
mod preview;

use std::sync::Arc;

use orion_domain::plan::MAX_STEPS;
use orion_domain::{CallRequest, Caller, ErrorCode, Hint, PlanId, ToolError};

use super::{PlanError, PlanRequest, publish};
use crate::clock::new_uuid_unlike_others;
use crate::pipeline::Pipeline;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::preview::PreviewResult;
use crate::pipeline::secrets::split;
use crate::pipeline::stops::end_plan_if_covered;
use crate::store::{EarlierChanges, MakePlanError, PlanRow, StoreError};

use bind::plan;
use evaluate::{evaluated, refused};
use preview::preview;

/// The most bytes of the arguments of all steps together.
pub const MAX_PLAN_BYTES: usize = 512 * 1024;

/// A step that is possible, as it is shown.
struct Planned {
    evaluated: EvaluatedCall,
    seen: PreviewResult,
    /// The paths of this step that earlier steps change. None if there are none.
    earlier: Option<EarlierChanges>,
    after: Option<u32>,
}

/// Makes a plan and returns it as it is shown. The work continues if the requester disconnects.
///
/// # Errors
/// See [`PlanError`].
pub async fn create(
    pipeline: &Arc<Pipeline>,
    caller: Caller,
    request: PlanRequest,
) -> Result<PlanRow, PlanError> {
    let shared = Arc::clone(pipeline);
    let task = pipeline.tasks.calls.spawn(async move { make(&shared, caller, request).await });
    task.await.unwrap_or(Err(PlanError::Store(StoreError::Unavailable)))
}

async fn make(
    pipeline: &Arc<Pipeline>,
    caller: Caller,
    request: PlanRequest,
) -> Result<PlanRow, PlanError> {
    let PlanRequest { steps, keep_going } = request;
    fits(&steps).map_err(|error| PlanError::Plan(Box::new(error)))?;
    let most = pipeline.config.calls.in_flight_per_person;
    let _place = pipeline
        .limits
        .acquire_slot(&caller.user, most)
        .map_err(|error| PlanError::Plan(Box::new(error)))?;
    let id = PlanId::new(new_uuid_unlike_others());
    // All steps are evaluated before any device is asked.
    let mut calls = Vec::with_capacity(steps.len());
    for (number, step) in (1_u32..).zip(steps) {
        calls.push(evaluated(pipeline, &caller, id, number, step).await?);
    }
    let mut planned: Vec<Planned> = Vec::with_capacity(calls.len());
    for (number, evaluated) in (1_u32..).zip(calls) {
        let (tool, device) =
            (evaluated.target.spec.name.to_owned(), evaluated.target.device.name.to_string());
        let possible = match refuse_secrets(&evaluated) {
            Ok(()) => preview(pipeline, evaluated, &planned).await,
            Err(error) => Err(error),
        };
        match possible {
            Ok(step) => planned.push(step),
            Err(error) => {
                refused(pipeline, &caller, id, number, &error).await?;
                return Err(PlanError::Step { number, tool, device, error: Box::new(error) });
            }
        }
    }
    let plan = plan(pipeline, id, &caller, keep_going, planned);
    pipeline.store.make_plan(plan).await.map_err(|error| match error {
        MakePlanError::Store(error) => PlanError::Store(error),
        error @ (MakePlanError::TooManyOfPerson
        | MakePlanError::TooMany
        | MakePlanError::TooManyQuestions) => {
            let message = format!("The plan is not made: {error}.");
            let error = ToolError::new(ErrorCode::ResourceExhausted, message)
                .hint(Hint::run("decide some plans, then try again", "orion plan list"))
                .hint(Hint::run("decide some requests, then try again", "orion approvals list"));
            PlanError::Plan(Box::new(error))
        }
    })?;
    let row = pipeline.store.plan(id).await?;
    tracing::info!(plan = %id, user = %caller.user, steps = row.steps.len(), "a plan waits");
    publish(pipeline, &row);
    if let Some(error) = end_plan_if_covered(pipeline, &row).await? {
        return Err(PlanError::Plan(Box::new(error)));
    }
    Ok(row)
}

/// Refuses a step with a secret: a plan stores what it shows, and waits long.
fn refuse_secrets(evaluated: &EvaluatedCall) -> Result<(), ToolError> {
    let spec = evaluated.target.spec;
    if split(Some(spec), &evaluated.parsed.arguments).secrets.is_none() {
        return Ok(());
    }
    let message = format!("A call of {} with a secret cannot be a step of a plan.", spec.name);
    Err(ToolError::new(ErrorCode::InvalidArgument, message).hint("make the call by itself"))
}

fn fits(steps: &[CallRequest]) -> Result<(), ToolError> {
    let invalid = |message: String| Err(ToolError::new(ErrorCode::InvalidArgument, message));
    if steps.is_empty() || steps.len() > MAX_STEPS {
        return invalid(format!(
            "A plan has 1 to {MAX_STEPS} steps, and this has {}.",
            steps.len()
        ));
    }
    let bytes: usize = steps
        .iter()
        .map(|step| serde_json::to_vec(&step.arguments).map_or(usize::MAX / 64, |it| it.len()))
        .sum();
    if bytes > MAX_PLAN_BYTES {
        return invalid(format!(
            "The arguments of a plan have {MAX_PLAN_BYTES} bytes at most, and these have {bytes}."
        ));
    }
    Ok(())
}
