//! Ends the plans that ran when the backend stopped.

use orion_domain::CallState;

use super::step::end_of;
use crate::clock::now_ms;
use crate::pipeline::Pipeline;
use crate::pipeline::plan::end::{close_unsent, skipped};
use crate::pipeline::view::CallView;
use crate::store::{PlanRow, PlanState, StepEnd, StepState, StoreError};

/// Ends the plans that ran when the backend stopped: steps that had not started are skipped, and a started
/// step ends as its call did. Called once, after the calls were recovered.
///
/// # Errors
/// The database cannot be written.
pub async fn recover(pipeline: &Pipeline) -> Result<(), StoreError> {
    for plan in pipeline.store.running_plans().await? {
        interrupt(pipeline, &plan).await?;
        tracing::warn!(plan = %plan.id, "a plan that ran at the last stop was ended");
    }
    let mut after = String::new();
    loop {
        let calls = pipeline.store.calls_of_ended_plans(&after).await?;
        let Some(last) = calls.last() else { return Ok(()) };
        after.clone_from(last);
        for call in calls {
            let row = pipeline.store.find_call(&call).await?;
            let Some(plan) = row.plan else { continue };
            let error = skipped(plan, "the plan had ended when the backend stopped");
            close_unsent(pipeline, row.id, error).await?;
        }
    }
}

/// Ends a plan that cannot continue, with the step that was running.
pub(super) async fn interrupt(pipeline: &Pipeline, plan: &PlanRow) -> Result<(), StoreError> {
    for step in plan.steps.iter().filter(|step| step.state == StepState::Running) {
        let end = match pipeline.store.call(step.call).await {
            Ok(row) if row.state.is_closed() => end_of(&CallView::from(row)),
            // The call is on its device, which will report the end.
            Ok(row) if matches!(row.state, CallState::Dispatched | CallState::Running) => {
                return Err(StoreError::Conflict);
            }
            Ok(_) | Err(StoreError::NotFound) => StepEnd {
                state: StepState::Skipped,
                code: None,
                message: "The plan was interrupted before this step was sent.".to_owned(),
            },
            Err(error) => return Err(error),
        };
        pipeline.store.end_step(plan.id, step.number, end, now_ms()).await?;
    }
    pipeline.store.end_plan(plan.id, PlanState::Interrupted, now_ms()).await
}
