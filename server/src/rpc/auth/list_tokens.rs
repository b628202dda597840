//! `ListTokens`: API tokens and sessions, without their secrets.

use orion_domain::Role;
use orion_wire::v1;
use tonic::Status;

use super::{AuthApi, to_proto, token_owner};
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::TokenFilter;

/// Lists the caller's own tokens, or for an admin another person's or all; with `sessions` the sessions too.
pub(super) async fn list_tokens(
    api: &AuthApi,
    request: Signed<v1::ListTokensRequest>,
) -> Result<v1::ListTokensResponse, Status> {
    let Signed { identity: by, message } = request;
    let v1::ListTokensRequest { user, all, sessions } = message;
    let user = if all { None } else { Some(token_owner::of(&by.caller, &user)?) };
    if all && by.caller.role != Role::Admin {
        return Err(token_owner::only_admins(&by.caller));
    }
    let rows = api.store.tokens(TokenFilter { user, sessions }).await.map_err(status::store)?;
    Ok(v1::ListTokensResponse { tokens: rows.into_iter().map(to_proto::token).collect() })
}
