//! `ListMacros`: the caller's macros.

use orion_wire::v1;
use tonic::Status;

use super::{MacroApi, to_proto};
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Lists the caller's macros, by name.
pub(super) async fn list_macros(
    api: &MacroApi,
    request: Signed<v1::ListMacrosRequest>,
) -> Result<v1::ListMacrosResponse, Status> {
    let user = &request.identity.caller.user;
    let macros = api.store.macros(user).await.map_err(status::store)?;
    Ok(v1::ListMacrosResponse { macros: macros.into_iter().map(to_proto::of_row).collect() })
}
