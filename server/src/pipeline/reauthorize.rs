//! Looks at a person again before their call runs that has waited.

use orion_domain::{Caller, Digest, ErrorCode, ToolError};

use super::Pipeline;
use crate::clock::now_ms;
use crate::store::StoreError;

/// Returns the caller with their current role. The link or token of the request, if there was one, must
/// still be valid.
///
/// # Errors
/// The database cannot be read. The inner error is for the caller if the call may not be made any more.
pub async fn person(
    pipeline: &Pipeline,
    caller: &Caller,
    token: Option<Digest>,
) -> Result<Result<Caller, ToolError>, StoreError> {
    let no = |message: String| Ok(Err(ToolError::new(ErrorCode::PermissionDenied, message)));
    let user = match pipeline.store.user(&caller.user).await {
        Ok(user) if user.disabled_at.is_none() => user,
        Ok(_) | Err(StoreError::NotFound) => {
            return no(format!(
                "The account of {} is disabled, so its calls are not made.",
                caller.user
            ));
        }
        Err(error) => return Err(error),
    };
    if let Some(token) = token
        && pipeline.store.token(token, now_ms()).await?.is_none()
    {
        return no(format!(
            "The link or token with which {} made this call was taken back or has expired, so it is not run.",
            caller.user
        ));
    }
    Ok(Ok(Caller { role: user.role, ..caller.clone() }))
}
