//! `SetUserRole`: what an account may do.

use orion_domain::{Role, UserName};
use orion_wire::v1;
use tonic::Status;

use super::AuthApi;
use crate::clock::now_ms;
use crate::fleet::effective_policy::person_changed;
use crate::people::Change;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Sets the role of an account. It counts at once: the person's open streams end, and their next request has
/// the new role. The last admin who can sign in keeps the role.
pub(super) async fn set_user_role(
    api: &AuthApi,
    request: Signed<v1::SetUserRoleRequest>,
) -> Result<v1::SetUserRoleResponse, Status> {
    let Signed { identity: by, message } = request;
    let v1::SetUserRoleRequest { user, role } = message;
    let role: Role = role.parse().map_err(status::invalid)?;
    let user: UserName = user.parse().map_err(status::invalid)?;
    let set = api.store.set_role(&user, role, &by.caller.user, now_ms()).await;
    set.map_err(status::change_user)?;
    api.people.changed(Change::Role(user.clone()));
    person_changed(&api.devices, &user, Vec::new()).await.map_err(status::store)?;
    Ok(v1::SetUserRoleResponse { user: Some(api.account(&user).await?) })
}
