//! `GetPlan`: the state of a plan.

use std::time::Duration;

use orion_wire::v1;
use tonic::Status;

use super::{PlanApi, to_proto};
use crate::pipeline::plan;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Returns one of the caller's plans, or for operators and admins any, by its id or the beginning of it. With
/// `wait_ms`, waits up to that long, a minute at most, until the plan is past `known_revision` or has ended.
pub(super) async fn get_plan(
    api: &PlanApi,
    request: Signed<v1::GetPlanRequest>,
) -> Result<v1::GetPlanResponse, Status> {
    let Signed { identity, message } = request;
    let v1::GetPlanRequest { plan_id, wait_ms, known_revision } = message;
    let (caller, wait) = (&identity.caller, Duration::from_millis(wait_ms));
    let row = plan::wait_for_change(&api.pipeline, caller, &plan_id, known_revision, wait).await;
    Ok(v1::GetPlanResponse { plan: Some(to_proto::plan(row.map_err(status::store)?)) })
}
