//! `RemoveAlias`: takes a name of the caller away.

use orion_domain::{ErrorCode, Hint};
use orion_wire::v1;
use tonic::Status;

use super::{ToolApi, to_proto};
use crate::clock::now_ms;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Removes an alias of the caller.
pub(super) async fn remove_alias(
    api: &ToolApi,
    request: Signed<v1::RemoveAliasRequest>,
) -> Result<v1::RemoveAliasResponse, Status> {
    let Signed { identity, message } = request;
    let store = &api.pipeline.store;
    let found = store.alias(&identity.caller.user, &message.name).await.map_err(status::store)?;
    let removed = match found {
        Some(alias) => {
            let is_removed = store.remove_alias(&alias, now_ms()).await.map_err(status::store)?;
            is_removed.then_some(alias)
        }
        None => None,
    };
    let alias = removed.ok_or_else(|| {
        let hint = Hint::run("list your aliases", "orion aliases list");
        status::hinted(ErrorCode::NotFound, "you have no such alias", hint)
    })?;
    Ok(v1::RemoveAliasResponse { alias: Some(to_proto::alias(alias)) })
}
