//! `SetPassword`: a password for an account.

use orion_domain::{ErrorCode, Role, UserName};
use orion_wire::v1;
use tonic::Status;

use super::{AuthApi, to_proto};
use crate::clock::now_ms;
use crate::listen::Source;
use crate::people::{self, Change, confirm_password};
use crate::rpc::signed::Signed;
use crate::rpc::status;
use crate::store::SessionsAfter;

/// Sets a password: one's own with the old one, another person's as an admin. The account's other sessions
/// end, unless it is the person's first password; returns how many.
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
    let mut is_first = false;
    if is_own {
        let (store, people) = (&api.store, &api.people);
        let has_old = !old_password.is_empty();
        let checked = confirm_password(store, people, source, &name, old_password, "password");
        is_first = !checked.await.map_err(status::sign_in)?;
        if is_first && has_old {
            return Err(status::hinted(
                ErrorCode::InvalidArgument,
                "this account has no password yet",
                "leave the old password empty",
            ));
        }
    } else if by.caller.role != Role::Admin {
        return Err(status::denied(format!(
            "only an admin sets another person's password, and {own} is {}",
            by.caller.role
        )));
    }
    let hash = people::hash(password).await.map_err(status::sign_in)?;
    // Nobody can have signed in with a password that there was not.
    let sessions = match (is_own, is_first) {
        (true, true) => SessionsAfter::All,
        (true, false) => SessionsAfter::One(by.token),
        (false, _) => SessionsAfter::None,
    };
    let ended = api.store.set_password(&name, hash, own, sessions, now_ms()).await;
    let ended = ended.map_err(status::change_user)?;
    if let Some(kept) = sessions.ends_all_but() {
        api.people.changed(Change::Sessions(name, kept));
    }
    Ok(v1::SetPasswordResponse { ended: to_proto::count(ended) })
}
