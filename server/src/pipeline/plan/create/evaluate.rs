//! Evaluates the steps of a plan that is made. A step that is not possible ends the plan, and is stored as a
//! denied call.

use std::sync::Arc;

use orion_domain::evaluate::Decision;
use orion_domain::{CallRequest, Caller, PlanId, ToolError};

use crate::clock::now_ms;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::{CallContext, Origin};
use crate::pipeline::evaluate::measured;
use crate::pipeline::names::resolve;
use crate::pipeline::plan::PlanError;
use crate::pipeline::preview::Preview;
use crate::pipeline::verdict::Decided;
use crate::pipeline::{Pipeline, audit};
use crate::store::StoreError;

/// Evaluates a step as a call. A denial is stored like any other.
pub(super) async fn evaluated(
    pipeline: &Arc<Pipeline>,
    caller: &Caller,
    plan: PlanId,
    number: u32,
    mut request: CallRequest,
) -> Result<EvaluatedCall, PlanError> {
    let alias = resolve(pipeline, caller, &mut request).await?;
    let (tool, device) = (request.tool.clone(), request.device.clone().unwrap_or_default());
    let origin = Origin::PlanStep { plan, shown: None };
    let context = CallContext { origin, alias, ..CallContext::new(caller.clone(), request) };
    let (denied, error) = match measured(pipeline, context).await? {
        Ok(call) => match impossible(&call) {
            Some(error) => (Decided::denied(call, error.clone()), error),
            None => return Ok(call),
        },
        Err(stopped) => {
            let error = stopped.error.clone();
            (Decided::from(*stopped), error)
        }
    };
    audit::record(pipeline, denied).await?;
    refused(pipeline, caller, plan, number, &error).await?;
    Err(PlanError::Step { number, tool, device, error: Box::new(error) })
}

/// Returns why an evaluated step is not possible. None if it is.
fn impossible(call: &EvaluatedCall) -> Option<ToolError> {
    match (call.decision(), call.preview()) {
        (Decision::Deny, Some(Preview::WouldFail(error))) => Some(error.clone()),
        (Decision::Deny, Some(Preview::Shown(_) | Preview::Missing) | None) => Some(call.refusal()),
        (Decision::Allow, _) => call.permit(None).err().map(|error| *error),
        (Decision::Ask | Decision::DryRunFirst, _) => None,
    }
}

pub(super) async fn refused(
    pipeline: &Pipeline,
    caller: &Caller,
    plan: PlanId,
    number: u32,
    error: &ToolError,
) -> Result<(), StoreError> {
    tracing::info!(user = %caller.user, step = number, code = %error.code, "a plan was refused");
    pipeline.store.audit_refused_plan(plan, &caller.user, number, error.code, now_ms()).await
}
