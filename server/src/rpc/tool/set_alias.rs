//! `SetAlias`: gives a name to a tool with some of its arguments.

use orion_domain::json;
use orion_wire::v1;
use serde_json::Map;
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::pipeline::aliases::{self, MAX_ARGUMENTS_BYTES};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Stores an alias of the caller, in the place of an earlier one of that name.
pub(super) async fn set_alias(
    api: &ToolApi,
    request: Signed<v1::SetAliasRequest>,
) -> Result<v1::SetAliasResponse, Status> {
    let Signed { identity, message } = request;
    let v1::SetAliasRequest { name, tool, arguments } = message;
    if arguments.len() > MAX_ARGUMENTS_BYTES {
        return Err(status::invalid(format!(
            "the arguments of an alias have {MAX_ARGUMENTS_BYTES} bytes at most"
        )));
    }
    let arguments = match &arguments[..] {
        [] => Map::new(),
        text => json::parse_object(text)
            .map_err(|error| status::invalid(format!("the arguments cannot be read: {error}")))?,
    };
    let set = aliases::set(&api.pipeline, &identity.caller, &name, &tool, arguments).await;
    let alias = set.map_err(status::store)?.map_err(status::tool_error)?;
    Ok(v1::SetAliasResponse { alias: Some(to_proto::alias(alias)) })
}
