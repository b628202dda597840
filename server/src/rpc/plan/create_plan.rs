//! `CreatePlan`: several calls, shown together.

use orion_domain::CallRequest;
use orion_wire::{call_request, v1};
use tonic::Status;

use super::{PlanApi, to_proto};
use crate::pipeline::plan::{self, PlanRequest};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Evaluates and previews every step, stores the plan, and returns it for approval. Nothing runs before it is
/// approved; a step that is denied or cannot be previewed refuses the whole plan.
pub(super) async fn create_plan(
    api: &PlanApi,
    request: Signed<v1::CreatePlanRequest>,
) -> Result<v1::CreatePlanResponse, Status> {
    let Signed { identity, message } = request;
    status::not_stopping(&api.pipeline.tasks)?;
    let v1::CreatePlanRequest { steps, keep_going } = message;
    let steps = steps.into_iter().map(step).collect::<Result<_, _>>()?;
    let request = PlanRequest { steps, keep_going };
    let row = plan::create(&api.pipeline, identity.caller, request).await.map_err(status::plan)?;
    Ok(v1::CreatePlanResponse { plan: Some(to_proto::plan(row)) })
}

fn step(step: v1::NewPlanStep) -> Result<CallRequest, Status> {
    let v1::NewPlanStep { device, tool, arguments } = step;
    let request = v1::CallToolRequest { device, tool, arguments, ..v1::CallToolRequest::default() };
    call_request(request).map(|(request, _)| request).map_err(status::wire)
}
