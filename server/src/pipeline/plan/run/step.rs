//! Runs one step of a plan as a call, or ends that call unsent.

use std::sync::Arc;

use orion_domain::{CallRequest, CallState, Envelope, ErrorCode, ToolError};
use serde_json::Value;

use crate::pipeline::call::{CallContext, Origin};
use crate::pipeline::confirm::run_approved;
use crate::pipeline::view::CallView;
use crate::pipeline::{Pipeline, audit, validate};
use crate::store::{PlanRow, StepEnd, StepRow, StepState, StoreError};

/// The maximum length of the stored message of a step's end, in characters.
const MAX_MESSAGE_CHARS: usize = 500;

/// Returns a step as a call, which runs only if it is as it was shown.
pub(in crate::pipeline::plan) fn context(
    plan: &PlanRow,
    step: &StepRow,
) -> Result<CallContext, StoreError> {
    let Ok(Value::Object(arguments)) = serde_json::from_slice(&step.arguments) else {
        return Err(StoreError::Corrupt);
    };
    let request = CallRequest {
        tool: step.tool.clone(),
        device: Some(step.device.0.to_string()),
        arguments,
        // The following steps would have to wait as well.
        queue: Some(false),
        ..CallRequest::default()
    };
    Ok(CallContext {
        id: step.call,
        origin: Origin::PlanStep { plan: plan.id, shown: Some(Box::new(step.clone())) },
        observed: step.observed.clone(),
        is_fresh: false,
        ..CallContext::new(plan.caller.clone(), request)
    })
}

/// Ends the call of a step that is not sent.
pub(super) async fn unsent(
    pipeline: &Arc<Pipeline>,
    plan: &PlanRow,
    step: &StepRow,
    error: ToolError,
) -> Result<CallView, StoreError> {
    if plan.question(step).is_some() {
        let row = pipeline.store.call(step.call).await?;
        return audit::close(pipeline, CallView::from(row), error).await;
    }
    let context = context(plan, step)?;
    let target = validate::target(pipeline, &context.request).ok();
    audit::deny(pipeline, context, target, error).await
}

/// Runs one step and returns the end of its call.
pub(super) async fn one(
    pipeline: &Arc<Pipeline>,
    plan: &PlanRow,
    step: &StepRow,
) -> Result<CallView, StoreError> {
    let most = pipeline.config.calls.in_flight_per_person;
    let _place = match pipeline.limits.acquire_slot(&plan.caller.user, most) {
        Ok(place) => place,
        Err(error) => return unsent(pipeline, plan, step, error).await,
    };
    match plan.question(step) {
        Some(question) => run_approved(pipeline, question, None).await,
        None => pipeline.resume(context(plan, step)?, None).await,
    }
}

/// Returns the end of a step, from the end of its call.
pub(super) fn end_of(view: &CallView) -> StepEnd {
    let envelope: Option<Envelope> = serde_json::from_slice(&view.result).ok();
    let message = envelope.as_ref().map(|it| it.message.as_str()).unwrap_or_default();
    let message = message.chars().take(MAX_MESSAGE_CHARS).collect();
    let error = envelope.as_ref().and_then(|it| it.error.as_ref());
    let drifted = error.is_some_and(|error| {
        error.code == ErrorCode::PreconditionFailed
            && error.details.get("reason") == Some(&"drift".into())
    });
    let state = if view.state == CallState::Succeeded {
        StepState::Succeeded
    } else if drifted {
        StepState::Drifted
    } else {
        StepState::Failed
    };
    StepEnd { state, code: error.map(|error| error.code), message }
}
