//! `GetCall`: the state of a call.

use std::time::Duration;

use orion_catalog::Tool as _;
use orion_catalog::tools::undo_call::UndoCall;
use orion_domain::{CallState, Role};
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
    let undo = match changed_something(&view) {
        true => api.pipeline.store.undone_by(view.call).await.map_err(status::store)?,
        false => None,
    };
    let caller = &identity.caller;
    let call = v1::Call {
        undone: undo.is_some(),
        // Another person's call is none of the caller's.
        undone_by: undo
            .filter(|(_, user)| caller.role == Role::Admin || *user == caller.user)
            .map(|(id, _)| id.to_string())
            .unwrap_or_default(),
        ..to_proto::recorded_in_progress(&api.pipeline.fleet, view)
    };
    Ok(v1::GetCallResponse { call: Some(call) })
}

/// Returns whether there may be something to take back.
fn changed_something(view: &CallView) -> bool {
    let tool = orion_catalog::find(&view.tool).map(|(spec, _)| spec);
    let can_be_undone = tool.is_some_and(|spec| spec.undo || spec.name == UndoCall::NAME);
    can_be_undone && view.state == CallState::Succeeded && !view.dry_run
}
