//! `ListCalls`: the newest calls.

use orion_wire::v1;
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::pipeline::calls::{self, CallFilter};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Lists the caller's newest calls, or for an admin everybody's, without arguments and results: of one device
/// or all, with `open` only those that have not ended or whose outcome is unknown, with `previews` also
/// previews. `limit` 0 stands for 50; at most 1,000 are listed.
pub(super) async fn list_calls(
    api: &ToolApi,
    request: Signed<v1::ListCallsRequest>,
) -> Result<v1::ListCallsResponse, Status> {
    let Signed { identity, message } = request;
    let v1::ListCallsRequest { device, open, limit, previews } = message;
    let fleet = &api.pipeline.fleet;
    let device = if device.is_empty() {
        None
    } else {
        Some(fleet.find(&device).map_err(status::tool_error)?.id)
    };
    let filter = CallFilter { device, open, previews, limit };
    let rows = calls::newest_visible(&api.pipeline, &identity.caller, filter).await;
    let rows = rows.map_err(status::store)?.into_iter();
    let calls = rows.map(|row| to_proto::listed(fleet, row)).collect();
    Ok(v1::ListCallsResponse { calls })
}
