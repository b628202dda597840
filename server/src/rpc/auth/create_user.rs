//! `CreateUser`: a new account.

use orion_domain::{ErrorCode, Hint, Role, UserName};
use orion_wire::v1;
use tonic::Status;

use super::AuthApi;
use crate::clock::now_ms;
use crate::people;
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::scope::TokenKind;

/// Creates an account. Only a session may set a password, because a password signs a person in.
pub(super) async fn create_user(
    api: &AuthApi,
    request: Signed<v1::CreateUserRequest>,
) -> Result<v1::CreateUserResponse, Status> {
    let Signed { identity: by, message } = request;
    let v1::CreateUserRequest { user, role, password } = message;
    let name: UserName = user.parse().map_err(status::invalid)?;
    let role: Role = role.parse().map_err(status::invalid)?;
    let hash = if password.is_empty() {
        None
    } else if by.kind != TokenKind::Session {
        return Err(status::hinted(
            ErrorCode::PermissionDenied,
            "an API token creates accounts without a password only",
            Hint::run("sign in to set a password", "orion login"),
        ));
    } else {
        Some(people::hash(password).await.map_err(status::sign_in)?)
    };
    let made = api.store.create_user(&name, role, hash, &by.caller.user, now_ms()).await;
    made.map_err(status::change_user)?;
    Ok(v1::CreateUserResponse { user: Some(api.account(&name).await?) })
}
