//! `ResumeCalls`: lets stopped calls run again.

use orion_domain::{ErrorCode, Hint};
use orion_wire::v1;
use tonic::Status;

use super::stop_scope::stop_scope;
use super::{ToolApi, to_proto};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Lifts stops: those that the caller set on their own calls, or for an admin any.
pub(super) async fn resume_calls(
    api: &ToolApi,
    request: Signed<v1::ResumeCallsRequest>,
) -> Result<v1::ResumeCallsResponse, Status> {
    let Signed { identity, message } = request;
    let v1::ResumeCallsRequest { device, all_devices, user } = message;
    let (caller, pipeline) = (&identity.caller, &api.pipeline);
    let (scope, name) = stop_scope(api, caller, (&device, all_devices), &user).await?;
    let lifted = pipeline.stops.lift(&pipeline.store, caller, &scope).await;
    let lifted = lifted.map_err(status::store)?;
    let remaining = pipeline.stops.visible(caller);
    if lifted.is_empty() {
        if let Some(user) = &scope.user
            && let Some(others) = pipeline.stops.set_by_others(user, scope.device)
        {
            return Err(status::tool_error(others));
        }
        let list = Hint::run("list what is stopped", "orion stop --list");
        let place = name.map(|name| format!(" on {name}")).unwrap_or_default();
        let clause = match &scope.user {
            Some(user) => format!("the calls of {user}{place} are not stopped"),
            None => format!("no stop of all calls{place} is set"),
        };
        return Err(status::hinted(ErrorCode::PreconditionFailed, clause, list));
    }
    Ok(v1::ResumeCallsResponse {
        lifted: lifted.into_iter().map(to_proto::stop).collect(),
        remaining: remaining.into_iter().map(to_proto::stop).collect(),
    })
}
