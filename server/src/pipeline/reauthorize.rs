//! Evaluates a call again after it has waited: with the caller's permissions and the device's policy of
//! this moment.

use std::sync::Arc;

use orion_domain::{CallRequest, Caller, Digest, ErrorCode, Observation, ToolError};
use serde_json::Value;

use super::audit::CallContext;
use super::authorize::{self, EvaluatedCall};
use super::preview::Preview;
use super::rate_limit;
use super::validate::{self, Target};
use crate::backend::Backend;
use crate::clock::now_ms;
use crate::store::{CallRow, Provenance, StoreError};

/// Returns the caller with their current role. The session or token of the request, if there was one, must
/// still be valid.
///
/// # Errors
/// The database cannot be read. The inner error is for the caller if the call may not be made any more.
pub async fn person(
    backend: &Backend,
    caller: &Caller,
    token: Option<Digest>,
) -> Result<Result<Caller, ToolError>, StoreError> {
    let no = |message: String| Ok(Err(ToolError::new(ErrorCode::PermissionDenied, message)));
    let user = match backend.store.user(&caller.user).await {
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
        && backend.store.token(token, now_ms()).await?.is_none()
    {
        return no(format!(
            "The session or token with which {} made this call was taken back or has expired, so it is not run. Make it again where it is still wanted.",
            caller.user
        ));
    }
    Ok(Ok(Caller { role: user.role, ..caller.clone() }))
}

/// Evaluates the same call at this moment, with nothing counted.
///
/// # Errors
/// The database cannot be read.
pub async fn afresh(
    backend: &Backend,
    evaluated: &EvaluatedCall,
) -> Result<EvaluatedCall, StoreError> {
    let EvaluatedCall { incoming, target, parsed, .. } = evaluated;
    let (mut incoming, parsed) = (incoming.clone(), parsed.clone());
    let asked_as = incoming.caller.role;
    match person(backend, &incoming.caller, incoming.token).await? {
        Ok(caller) => incoming.caller.role = caller.role.min(asked_as),
        Err(error) => {
            return Ok(authorize::call(incoming, target.clone(), parsed).barred(error));
        }
    }
    let known = backend.fleet.known(target.device.id);
    let device = known.unwrap_or_else(|| target.device.clone());
    let target = Target { device, ..target.clone() };
    let arguments = incoming.request.arguments.clone();
    let fits = match validate::takes_calls(&target.device) {
        Ok(()) => validate::arguments(backend, &incoming.caller, &target, arguments).await?,
        Err(error) => Err(error),
    };
    Ok(match fits {
        Ok(parsed) => authorize::call(incoming, target, parsed),
        Err(error) => authorize::call(incoming, target, parsed).barred(error),
    })
}

/// Evaluates a stored call at this moment, with everything counted: with the caller's current permissions,
/// and never with a higher role than the requester had.
///
/// # Errors
/// The database cannot be read. The inner error is why the call may not run any more, even if it was
/// approved.
pub async fn from_row(
    backend: &Arc<Backend>,
    row: &CallRow,
    strangers: Provenance,
    observed: Vec<Observation>,
) -> Result<Result<EvaluatedCall, ToolError>, StoreError> {
    let Ok(Value::Object(arguments)) = serde_json::from_slice(&row.arguments) else {
        return Err(StoreError::Corrupt);
    };
    let caller = match person(backend, &row.caller, row.token).await? {
        Ok(caller) => Caller { role: caller.role.min(row.caller.role), ..caller },
        Err(error) => return Ok(Err(error)),
    };
    let incoming = CallContext {
        id: row.id,
        caller,
        created_at: row.created_at,
        strangers,
        plan: row.plan,
        observe: false,
        observed,
        background: false,
        is_internal: false,
        raises: Vec::new(),
        replaces: None,
        token: row.token,
        request: CallRequest {
            tool: row.tool.clone(),
            device: row.device.as_ref().map(|(id, _)| id.to_string()),
            arguments: arguments.clone(),
            dry_run: row.dry_run,
            idempotency_key: row.idempotency_key.clone(),
            timeout_ms: u64::try_from(row.deadline_at - row.created_at).ok(),
            recovered: row.recovered,
            ..CallRequest::default()
        },
    };
    let target = match validate::target(backend, &incoming.request) {
        Ok(target) => target,
        Err(error) => return Ok(Err(error)),
    };
    let fits = validate::arguments(backend, &incoming.caller, &target, arguments).await?;
    let evaluated = match fits {
        Ok(parsed) => rate_limit::judge(backend, incoming, target, parsed).await?,
        Err(error) => return Ok(Err(error)),
    };
    // The device was asked for the quantity, and reported that the call would fail.
    Ok(match &evaluated.preview {
        Some(Preview::WouldFail(error)) => Err(error.clone()),
        Some(Preview::Shown(_) | Preview::Missing) | None => Ok(evaluated),
    })
}
