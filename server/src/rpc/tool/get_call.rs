//! `GetCall`: the state of a call.

use std::time::Duration;

use orion_domain::CallState;
use orion_wire::v1;
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::pipeline::{CallView, calls};
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
    let view = view.map_err(status::store)?;
    let undone_by = match changed_something(&view) {
        true => api.pipeline.store.undone_by(view.call).await.map_err(status::store)?,
        false => None,
    };
    let call = to_proto::recorded_in_progress(&api.pipeline.fleet, view);
    let undone_by = undone_by.map(|id| id.to_string()).unwrap_or_default();
    Ok(v1::GetCallResponse { call: Some(v1::Call { undone_by, ..call }) })
}

/// Returns whether there may be something to take back.
fn changed_something(view: &CallView) -> bool {
    let can_be_undone = orion_catalog::find(&view.tool).is_some_and(|(spec, _)| spec.undo);
    can_be_undone && view.state == CallState::Succeeded && !view.dry_run
}
