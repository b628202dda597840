//! Whose tokens a request is about: the caller's own, or for an admin anybody's.

use orion_domain::{Caller, Role, UserName};
use tonic::Status;

use crate::rpc::status;

/// Returns the account that a request names; an empty text is the caller's own.
pub(super) fn of(by: &Caller, user: &str) -> Result<UserName, Status> {
    if user.is_empty() || user == by.user.as_str() {
        return Ok(by.user.clone());
    }
    if by.role != Role::Admin {
        return Err(only_admins(by));
    }
    user.parse().map_err(status::invalid)
}

/// Returns the status for a caller who asks for other people's tokens and is no admin.
pub(super) fn only_admins(by: &Caller) -> Status {
    status::denied(format!(
        "only an admin manages other people's tokens, and {} is {}",
        by.user, by.role
    ))
}
