//! `CancelCall`: ends a call that has not ended.

use orion_domain::{CallState, Hint};
use orion_wire::v1;
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::pipeline::calls;
use crate::pipeline::cancel::cancel;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Cancels one of the caller's calls, or for an admin any. A call that was not sent ends at once; for a sent
/// one the device is asked to stop and reports the outcome. A step of a plan that waits for approval ends
/// with its plan, so it is refused here.
pub(super) async fn cancel_call(
    api: &ToolApi,
    request: Signed<v1::CancelCallRequest>,
) -> Result<v1::CancelCallResponse, Status> {
    let Signed { identity, message } = request;
    let v1::CancelCallRequest { call_id } = message;
    let row = calls::visible(&api.pipeline, &identity.caller, &call_id).await;
    let row = row.map_err(status::store)?;
    if let (Some(plan), CallState::AwaitingApproval) = (row.plan, row.state) {
        return Err(status::managed_elsewhere(
            format!("this call is a step of the plan {plan}, which ends as a whole"),
            Hint::run("deny the plan", format!("orion plan deny {plan}")),
        ));
    }
    let view = cancel(&api.pipeline, &identity.caller, row).await.map_err(status::store)?;
    Ok(v1::CancelCallResponse { call: Some(to_proto::recorded(view)) })
}
