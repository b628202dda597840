//! `WhoAmI`: the caller.

use orion_wire::v1;
use tonic::Status;

use super::{AuthApi, to_proto};
use crate::clock::now_ms;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Returns the caller's name, role, and session or token.
pub(super) async fn who_am_i(
    api: &AuthApi,
    request: Signed<v1::WhoAmIRequest>,
) -> Result<v1::WhoAmIResponse, Status> {
    let Signed { identity, message: v1::WhoAmIRequest {} } = request;
    let found = api.store.token(identity.token, now_ms()).await.map_err(status::store)?;
    Ok(v1::WhoAmIResponse {
        user: identity.caller.user.to_string(),
        role: identity.caller.role.to_string(),
        token: found.map(|(row, _)| to_proto::token(row)),
    })
}
