//! Waiting takes time. What has waited is judged anew: as the person is let in by now, and by what
//! holds on the device by now.

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

/// The person that a call is made for, with the role that they have by now. With the session or token that
/// it was asked with, where there was one, that must still be good.
///
/// # Errors
/// The record cannot be read; inside, what the caller is told where the call is not made any more.
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

/// The same call as it is judged at this moment, with nothing counted.
///
/// # Errors
/// The record cannot be read.
pub async fn afresh(
    backend: &Backend,
    judged: &EvaluatedCall,
) -> Result<EvaluatedCall, StoreError> {
    let EvaluatedCall { incoming, target, parsed, .. } = judged;
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

/// A call that stands on the record, as it is judged at this moment with everything counted: for the
/// person as they are let in by now, and never with a higher role than the one that asked.
///
/// # Errors
/// The record cannot be read; inside, why the call does not run any more, whatever was said to it.
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
    let judged = match fits {
        Ok(parsed) => rate_limit::judge(backend, incoming, target, parsed).await?,
        Err(error) => return Ok(Err(error)),
    };
    // Its device was asked how much it touches, and said that it would not do what it should.
    Ok(match &judged.preview {
        Some(Preview::WouldFail(error)) => Err(error.clone()),
        Some(Preview::Shown(_) | Preview::Missing) | None => Ok(judged),
    })
}
