//! Looks at a person again before their call runs that has waited.

use orion_domain::{Actor, Caller, Digest, ErrorCode, Hint, ToolError};

use super::Pipeline;
use crate::clock::now_ms;
use crate::store::StoreError;

/// Returns the caller with their current role. The session or token of the request, if there was one, must
/// still be valid.
///
/// # Errors
/// The database cannot be read. The inner error is for the caller if the call may not be made any more.
pub async fn person(
    pipeline: &Pipeline,
    caller: &Caller,
    token: Option<Digest>,
) -> Result<Result<Caller, ToolError>, StoreError> {
    let denied = |message: String| ToolError::new(ErrorCode::PermissionDenied, message);
    let no_account = |why: &str| {
        denied(format!("The account of {} {why}, so its calls are not made.", caller.user))
    };
    let user = match pipeline.store.user(&caller.user).await {
        Ok(user) if user.disabled_at.is_none() => user,
        Ok(_) => {
            let enable = format!("orion users enable {}", caller.user);
            let hint = Hint::run("enable the account", enable).by(Actor::Admin);
            return Ok(Err(no_account("is disabled").hint(hint)));
        }
        Err(StoreError::NotFound) => return Ok(Err(no_account("is gone"))),
        Err(error) => return Err(error),
    };
    if let Some(token) = token
        && pipeline.store.token(token, now_ms()).await?.is_none()
    {
        let error = denied(format!(
            "The call did not run: the session or token that {} used had ended.",
            caller.user
        ));
        return Ok(Err(error.hint(Hint::run(
            format!("make the call again, signed in as {} or with a valid token", caller.user),
            format!("orion login --user {}", caller.user),
        ))));
    }
    Ok(Ok(Caller { role: user.role, ..caller.clone() }))
}
