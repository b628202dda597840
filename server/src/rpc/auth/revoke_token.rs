//! `RevokeToken`: ends an API token or a session.

use orion_domain::{ErrorCode, Role};
use orion_wire::v1;
use tonic::Status;

use super::{AuthApi, to_proto, token_owner};
use crate::clock::now_ms;
use crate::people::Change;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::StoreError;

/// Revokes one of the caller's tokens or sessions, or for an admin anybody's, by its name, its id or the
/// beginning of its id. Its open streams end.
pub(super) async fn revoke_token(
    api: &AuthApi,
    request: Signed<v1::RevokeTokenRequest>,
) -> Result<v1::RevokeTokenResponse, Status> {
    let Signed { identity: by, message } = request;
    let v1::RevokeTokenRequest { token: asked, user } = message;
    let is_admin = by.caller.role == Role::Admin;
    let whose = match user.as_str() {
        "" if is_admin => None,
        user => Some(token_owner::of(&by.caller, user)?),
    };
    let revoked = api.store.revoke_token(&asked, whose.as_ref(), &by.caller.user, now_ms()).await;
    let row = revoked.map_err(|error| match error {
        StoreError::NotFound => status::token_not_found(),
        StoreError::Ambiguous => status::hinted(
            ErrorCode::InvalidArgument,
            "several tokens have this name, or an id that begins like this",
            "give more of the id, or name the account",
        ),
        StoreError::Conflict
        | StoreError::KeyInUse
        | StoreError::Full
        | StoreError::Unavailable
        | StoreError::OtherVersion
        | StoreError::Corrupt => status::store(error),
    })?;
    api.people.changed(Change::Token(row.hash));
    Ok(v1::RevokeTokenResponse { token: Some(to_proto::token(row)) })
}
