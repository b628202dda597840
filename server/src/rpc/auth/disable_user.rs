//! `DisableUser`: ends what an account may do.

use orion_domain::UserName;
use orion_wire::v1;
use tonic::Status;

use super::AuthApi;
use crate::clock::now_ms;
use crate::fleet::effective_policy::person_changed;
use crate::people::Change;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Disables an account: its sessions and tokens end, and its open streams with them. The last admin who can
/// sign in cannot be disabled.
pub(super) async fn disable_user(
    api: &AuthApi,
    request: Signed<v1::DisableUserRequest>,
) -> Result<v1::DisableUserResponse, Status> {
    let Signed { identity: by, message } = request;
    let v1::DisableUserRequest { user } = message;
    let user: UserName = user.parse().map_err(status::invalid)?;
    let disabled = api.store.disable_user(&user, &by.caller.user, now_ms()).await;
    let ended = disabled.map_err(status::change_user)?;
    api.people.changed(Change::Disabled(user.clone()));
    person_changed(&api.devices, &user, ended).await.map_err(status::store)?;
    Ok(v1::DisableUserResponse { user: Some(api.account(&user).await?) })
}
