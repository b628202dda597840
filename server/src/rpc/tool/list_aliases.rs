//! `ListAliases`: the caller's own names for calls.

use orion_wire::v1;
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Lists the caller's aliases, by name.
pub(super) async fn list_aliases(
    api: &ToolApi,
    request: Signed<v1::ListAliasesRequest>,
) -> Result<v1::ListAliasesResponse, Status> {
    let user = &request.identity.caller.user;
    let aliases = api.pipeline.store.aliases(user).await.map_err(status::store)?;
    Ok(v1::ListAliasesResponse { aliases: aliases.into_iter().map(to_proto::alias).collect() })
}
