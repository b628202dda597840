//! `EnableUser`: lets a disabled account in again.

use orion_domain::UserName;
use orion_wire::v1;
use tonic::Status;

use super::AuthApi;
use crate::clock::now_ms;
use crate::fleet::effective_policy::person_changed;
use crate::rpc::signed::Signed;
use crate::rpc::status;

/// Enables a disabled account. Its former sessions and tokens do not come back.
pub(super) async fn enable_user(
    api: &AuthApi,
    request: Signed<v1::EnableUserRequest>,
) -> Result<v1::EnableUserResponse, Status> {
    let Signed { identity: by, message } = request;
    let v1::EnableUserRequest { user } = message;
    let user: UserName = user.parse().map_err(status::invalid)?;
    let enabled = api.store.enable_user(&user, &by.caller.user, now_ms()).await;
    enabled.map_err(status::change_user)?;
    person_changed(&api.devices, &user, Vec::new()).await.map_err(status::store)?;
    Ok(v1::EnableUserResponse { user: Some(api.account(&user).await?) })
}
