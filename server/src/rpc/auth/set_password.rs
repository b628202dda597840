//! `SetPassword`: a password for an account.

use orion_domain::{Role, UserName};
use orion_wire::v1;
use tonic::Status;

use super::{AuthApi, to_proto};
use crate::clock::now_ms;
use crate::listen::Source;
use crate::people::{self, Change, confirm_password};
use crate::rpc::signed::Signed;
use crate::rpc::status;

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
        let (store, people) = (&api.store, &api.people);
        let checked = confirm_password(store, people, source, &name, old_password, "password");
        checked.await.map_err(status::sign_in)?;
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
