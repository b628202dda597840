//! `ListPlans`: the newest plans.

use orion_wire::v1;
use tonic::Status;

use super::{PlanApi, to_proto};
use crate::pipeline::plan;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Lists the caller's newest plans, or for operators and admins everybody's, without their steps: those that
/// wait or run, or with `all` those that have ended as well. At most 100 are listed.
pub(super) async fn list_plans(
    api: &PlanApi,
    request: Signed<v1::ListPlansRequest>,
) -> Result<v1::ListPlansResponse, Status> {
    let Signed { identity, message } = request;
    let v1::ListPlansRequest { all } = message;
    let rows = plan::all_visible(&api.pipeline, &identity.caller, !all).await;
    let plans = rows.map_err(status::store)?.into_iter().map(to_proto::plan).collect();
    Ok(v1::ListPlansResponse { plans })
}
