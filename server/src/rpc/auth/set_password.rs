//! `SetPassword`: a password for an account.

use orion_domain::{Role, UserName};
use orion_wire::v1;
use tonic::Status;

use super::{AuthApi, to_proto};
use crate::clock::now_ms;
use crate::listen::Source;
use crate::people::{self, Change, SignInError};
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::StoreError;

/// Sets a password: one's own with the old one, another person's as an admin. The account's other sessions
/// end; returns how many.
pub(super) async fn set_password(
    api: &AuthApi,
    source: &Source,
    request: Signed<v1::SetPasswordRequest>,
) -> Result<v1::SetPasswordResponse, Status> {
    let Signed { identity: by, message } = request;
    let v1::SetPasswordRequest { user, old_password, password } = message;
    let own = &by.caller.user;
    let name = if user.is_empty() {
        own.clone()
    } else {
        user.parse::<UserName>().map_err(status::invalid)?
    };
    let is_own = name == *own;
    if is_own {
        check_old(api, source, &name, old_password).await.map_err(status::sign_in)?;
    } else if by.caller.role != Role::Admin {
        return Err(status::denied(format!(
            "only an admin sets another person's password, and {own} is {}",
            by.caller.role
        )));
    }
    let hash = people::hash(password).await.map_err(status::sign_in)?;
    let keep = is_own.then_some(by.token);
    let ended = api.store.set_password(&name, hash, own, keep, now_ms()).await;
    let ended = ended.map_err(status::change_user)?;
    api.people.changed(Change::Sessions(name, keep));
    Ok(v1::SetPasswordResponse { ended: to_proto::count(ended) })
}

/// Checks the old password where there is one, because a session's holder need not be its person. A wrong
/// password counts as a failed login.
async fn check_old(
    api: &AuthApi,
    source: &Source,
    name: &UserName,
    old: String,
) -> Result<(), SignInError> {
    let row = match api.store.user(name).await {
        Ok(row) => row,
        Err(StoreError::NotFound) => return Err(SignInError::Wrong),
        Err(error) => return Err(error.into()),
    };
    let Some(stored) = row.password_hash else { return Ok(()) };
    let tries = &api.people.tries;
    tries.attempt(name, source, now_ms())?;
    if !people::verify(Some(stored), old).await? {
        let body = serde_json::json!({"user": name, "from": source.to_string(), "for": "password"});
        api.store.audit_event("auth.failed", body, now_ms()).await?;
        return Err(SignInError::OldPassword);
    }
    tries.succeeded(name, source, now_ms());
    Ok(())
}
