//! `StopCalls`: refuses calls until they are resumed, and ends those that run or wait.

use orion_wire::v1;
use tonic::Status;

use super::stop_scope::stop_scope;
use super::{ToolApi, to_proto};
use crate::clock::now_ms;
use crate::pipeline::stops::{self, MAX_REASON_CHARS};
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::StopRow;

/// Stops the caller's calls, or for an admin those of everybody or of one person. Answers when no call that is
/// covered can be sent any more and those under way were cancelled, or after ten seconds.
pub(super) async fn stop_calls(
    api: &ToolApi,
    request: Signed<v1::StopCallsRequest>,
) -> Result<v1::StopCallsResponse, Status> {
    let Signed { identity, message } = request;
    let v1::StopCallsRequest { device, all_devices, user, reason } = message;
    let caller = &identity.caller;
    let (scope, device_name) = stop_scope(api, caller, (&device, all_devices), &user).await?;
    let reason = reason.chars().take(MAX_REASON_CHARS).collect();
    let stop = StopRow { scope, device_name, by: caller.user.clone(), at: now_ms(), reason };
    let set = stops::set(&api.pipeline, stop).await;
    let (stop, is_new, ended) = set.map_err(status::store)?;
    let (is_ending, ended) = (ended.is_none(), ended.unwrap_or_default());
    Ok(v1::StopCallsResponse {
        stop: Some(to_proto::stop(stop)),
        was_stopped: !is_new,
        calls: ended.calls,
        plans: ended.plans,
        is_ending,
    })
}
