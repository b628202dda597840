//! Compares what a step is about to change with what a later step was shown with. Runs nothing.

use std::sync::Arc;

use orion_domain::{ErrorCode, ToolError};

use super::step::context;
use crate::pipeline::Pipeline;
use crate::pipeline::evaluate::evaluate;
use crate::pipeline::preview::{PreviewResult, observe};
use crate::store::{EarlierChanges, PlanRow, StepRow, StoreError};

/// Compares what a step is about to change with what a later step was shown with.
pub(super) async fn compare(
    pipeline: &Arc<Pipeline>,
    plan: &PlanRow,
    later: &StepRow,
    EarlierChanges { before, seen }: &EarlierChanges,
) -> Result<Result<(), ToolError>, StoreError> {
    let evaluated = match evaluate(pipeline, context(plan, later)?).await? {
        Ok(evaluated) => evaluated,
        Err(stopped) => return Ok(Err(stopped.error)),
    };
    let now = match observe(pipeline, &evaluated).await {
        Ok(PreviewResult { observed, .. }) => observed,
        Err(error) => return Ok(Err(error.into())),
    };
    for seen in seen {
        // The device reported each path, or there would be no preview.
        let now = now.iter().find(|now| now.path == seen.path);
        if let Some(change) = now.and_then(|now| seen.drift(now)) {
            let path = &seen.path;
            let error = ToolError::new(
                ErrorCode::PreconditionFailed,
                format!(
                    "{path} is not as it was when the preview was shown, so nothing was done: {change}. It was compared before step {before}, which would change it."
                ),
            ).hint("make the plan again to see a new preview");
            let error = error.with("reason", "drift").with("attempted_path", path.as_str());
            return Ok(Err(error.with("changed", change)));
        }
    }
    Ok(Ok(()))
}
