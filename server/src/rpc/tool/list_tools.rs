//! `ListTools`: the catalogue, or what one may call on a device.

use orion_wire::v1;
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::pipeline::calls;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Lists all tools, or with `device` those that the caller may call there.
pub(super) fn list_tools(
    api: &ToolApi,
    request: Signed<v1::ListToolsRequest>,
) -> Result<v1::ListToolsResponse, Status> {
    let Signed { identity, message } = request;
    let v1::ListToolsRequest { device } = message;
    let device = (!device.is_empty()).then_some(device.as_str());
    let tools = calls::visible_tools(&api.pipeline, &identity.caller, device);
    let tools = tools.map_err(status::tool_error)?.into_iter().map(to_proto::tool).collect();
    Ok(v1::ListToolsResponse { tools })
}
