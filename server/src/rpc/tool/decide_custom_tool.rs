//! `DecideCustomTool`: approves or rejects a tool that a device defines.

use orion_domain::Digest;
use orion_wire::{risk_from, v1};
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::fleet::custom_tools::decide;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Decides about exactly the definition that the admin was shown. It can be called, or not, from then on.
pub(super) async fn decide_custom_tool(
    api: &ToolApi,
    request: Signed<v1::DecideCustomToolRequest>,
) -> Result<v1::DecideCustomToolResponse, Status> {
    let Signed { identity, message } = request;
    let v1::DecideCustomToolRequest { device, name, digest, approve, risk } = message;
    let device = api.pipeline.fleet.find(&device).map_err(status::tool_error)?;
    let digest: Digest = digest
        .parse()
        .map_err(|_| status::invalid("the digest is not a SHA-256 in hexadecimal"))?;
    let is_given = risk != v1::Risk::Unspecified as i32;
    let risk = is_given.then(|| risk_from(risk)).transpose().map_err(status::wire)?;
    let (of, by) = ((device.id, &device.name), &identity.caller.user);
    let row = decide(&api.pipeline.devices, of, (&name, digest), (approve, risk), by)
        .await
        .map_err(status::custom_tool)?;
    Ok(v1::DecideCustomToolResponse { tool: Some(to_proto::custom_tool(&device.name, row)) })
}
