//! `GetCall`: the state of a call.

use std::time::Duration;

use orion_wire::v1;
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::pipeline::calls;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Returns one of the caller's calls, or for an admin any, by its id or the beginning of it. With `wait_ms`,
/// waits up to that long for the call's end, a minute at most.
pub(super) async fn get_call(
    api: &ToolApi,
    request: Signed<v1::GetCallRequest>,
) -> Result<v1::GetCallResponse, Status> {
    let Signed { identity, message } = request;
    let v1::GetCallRequest { call_id, wait_ms } = message;
    let wait = Duration::from_millis(wait_ms);
    let view = calls::wait_until_closed(&api.pipeline, &identity.caller, &call_id, wait).await;
    let call = to_proto::recorded_in_progress(&api.pipeline.fleet, view.map_err(status::store)?);
    Ok(v1::GetCallResponse { call: Some(call) })
}
