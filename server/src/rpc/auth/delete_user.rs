//! `DeleteUser`: ends an account for good.

use orion_domain::UserName;
use orion_wire::v1;
use tonic::Status;

use super::AuthApi;
use crate::clock::now_ms;
use crate::fleet::effective_policy::person_changed;
use crate::people::Change;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Deletes an account: its sessions, tokens and aliases end, and its name is never given again. The last admin
/// who can sign in cannot be deleted.
pub(super) async fn delete_user(
    api: &AuthApi,
    request: Signed<v1::DeleteUserRequest>,
) -> Result<v1::DeleteUserResponse, Status> {
    let Signed { identity: by, message } = request;
    let v1::DeleteUserRequest { user } = message;
    let user: UserName = user.parse().map_err(status::invalid)?;
    let deleted = api.store.delete_user(&user, &by.caller.user, now_ms()).await;
    let ended = deleted.map_err(status::change_user)?;
    api.people.changed(Change::Disabled(user.clone()));
    person_changed(&api.devices, &user, ended).await.map_err(status::store)?;
    Ok(v1::DeleteUserResponse {})
}
