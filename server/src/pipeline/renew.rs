//! Waiting takes time. What has waited is judged anew: as the person is let in by now, and by what
//! holds on the device by now.

use orion_domain::{Caller, ErrorCode, ToolError};

use super::authorize::{self, Judged};
use super::validate::{self, Target};
use crate::backend::Backend;
use crate::store::StoreError;

/// The person that a call is made for, with the role that they have by now.
///
/// # Errors
/// The record cannot be read; inside, what the caller is told where the person is gone.
pub async fn person(
    backend: &Backend,
    caller: &Caller,
) -> Result<Result<Caller, ToolError>, StoreError> {
    let user = match backend.store.user(&caller.user).await {
        Ok(user) if user.disabled_at.is_none() => user,
        Ok(_) | Err(StoreError::NotFound) => {
            let message =
                format!("The account of {} is disabled, so its calls are not made.", caller.user);
            return Ok(Err(ToolError::new(ErrorCode::PermissionDenied, message)));
        }
        Err(error) => return Err(error),
    };
    Ok(Ok(Caller { role: user.role, ..caller.clone() }))
}

/// The same call as it is judged at this moment, with nothing counted.
///
/// # Errors
/// The record cannot be read.
pub async fn afresh(backend: &Backend, judged: &Judged) -> Result<Judged, StoreError> {
    let Judged { incoming, target, parsed, .. } = judged;
    let (mut incoming, parsed) = (incoming.clone(), parsed.clone());
    let asked_as = incoming.caller.role;
    match person(backend, &incoming.caller).await? {
        Ok(caller) => incoming.caller.role = caller.role.min(asked_as),
        Err(error) => {
            return Ok(authorize::call(incoming, target.clone(), parsed).barred(error));
        }
    }
    let known = backend.fleet.known(target.device.id);
    let device = known.unwrap_or_else(|| target.device.clone());
    let target = Target { device, ..target.clone() };
    let fits = validate::takes_calls(&target.device)
        .and_then(|()| validate::arguments(&target, incoming.request.arguments.clone()));
    Ok(match fits {
        Ok(parsed) => authorize::call(incoming, target, parsed),
        Err(error) => authorize::call(incoming, target, parsed).barred(error),
    })
}
