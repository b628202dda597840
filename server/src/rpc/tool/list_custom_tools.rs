//! `ListCustomTools`: the tools that devices define, with what was decided about each.

use orion_wire::v1;
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Lists the custom tools of one device or of all, or only those that wait for a decision.
pub(super) async fn list_custom_tools(
    api: &ToolApi,
    request: Signed<v1::ListCustomToolsRequest>,
) -> Result<v1::ListCustomToolsResponse, Status> {
    let v1::ListCustomToolsRequest { device, pending } = request.message;
    let (store, fleet) = (&api.pipeline.store, &api.pipeline.fleet);
    let rows = if device.is_empty() {
        let of_devices = store.custom_tools().await.map_err(status::store)?;
        of_devices.into_values().flatten().collect()
    } else {
        let device = fleet.find(&device).map_err(status::tool_error)?;
        store.custom_tools_of(device.id).await.map_err(status::store)?
    };
    let mut tools: Vec<v1::CustomTool> = rows
        .into_iter()
        .filter(|row| !pending || row.waits())
        .filter_map(|row| Some(to_proto::custom_tool(&fleet.known(row.device)?.name, row)))
        .collect();
    tools.sort_by(|one, other| (&one.device, &one.name).cmp(&(&other.device, &other.name)));
    Ok(v1::ListCustomToolsResponse { tools })
}
