//! Requests for access: a denied person asks for the smallest grant that would have let that call run, and an
//! admin grants it until a moment. What is granted is what the request shows, checked again when it is granted.

use std::sync::Arc;

use orion_domain::evaluate::NotGrantable;
use orion_domain::{
    AccessRequestId, CallRequest, CallState, Caller, Decision, Digest, ErrorCode, Hint, Role,
    ToolError, strip_hidden,
};

use super::authorize::{self, Counts, EvaluatedCall};
use super::call::CallContext;
use super::validate::{self, Target};
use super::{Pipeline, calls, secrets};
use crate::bus::Change;
use crate::clock::{new_uuid, now_ms};
use crate::fleet::effective_policy::refresh;
use crate::store::{
    AccessAnswer, AccessRequestRow, AccessRequestState, AnswerAccessError, CallRow,
    NewRequestError, StoreError,
};

/// How long access is asked for if the requester does not say, in seconds.
const DEFAULT_SECONDS: u64 = 2 * 3600;
/// The longest that a temporary grant lasts, in seconds.
const MAX_SECONDS: u64 = 30 * 24 * 3600;
/// How long a request can be answered, in milliseconds.
const OPEN_MS: i64 = 7 * 24 * 3600 * 1000;
/// The most characters of a reason.
const MAX_REASON: usize = 500;

/// Why a request was not made or answered.
#[derive(Debug, thiserror::Error)]
pub enum AccessError {
    /// No such call of this person exists.
    #[error("you made no call with this id")]
    NoCall,
    /// No such request exists.
    #[error("there is no such access request")]
    NotFound,
    /// The call cannot be asked for. The error says why, and what helps.
    #[error("{}", .0.message)]
    NotGrantable(Box<ToolError>),
    /// The duration is out of bounds.
    #[error("access is granted for a second at least and 30 days at most")]
    Duration,
    /// The request was not stored.
    #[error(transparent)]
    New(#[from] NewRequestError),
    /// The answer does not count.
    #[error(transparent)]
    Answer(#[from] AnswerAccessError),
    /// The store failed.
    #[error("the database does not respond")]
    Store(#[from] StoreError),
}

/// Asks for what the grants of a device lack for a call of this person that was denied. `seconds` is for how
/// long; 0 for two hours.
///
/// # Errors
/// [`AccessError`].
pub async fn create(
    pipeline: &Arc<Pipeline>,
    caller: &Caller,
    call: &str,
    reason: &str,
    seconds: u64,
) -> Result<AccessRequestRow, AccessError> {
    let seconds = bounded(if seconds == 0 { DEFAULT_SECONDS } else { seconds })?;
    let row = own_call(pipeline, caller, call).await?;
    if row.state != CallState::Denied {
        let error = ToolError::new(ErrorCode::PreconditionFailed, "This call was not denied.");
        return Err(refused(error.hint(Hint::run("list your calls", "orion calls list"))));
    }
    let id = AccessRequestId::new(new_uuid());
    let call = evaluated(pipeline, caller.clone(), &row).await?;
    let grant = call.temporary_grant(id.to_string()).map_err(not_grantable)?;
    let device = &call.target.device;
    let (device, now) = ((device.id, device.name.clone()), now_ms());
    let row = AccessRequestRow {
        id,
        state: AccessRequestState::Open,
        requester: caller.user.clone(),
        call: row.id,
        digest: grant.digest(&device.0.to_string()),
        device,
        grant,
        reason: strip_hidden(reason, MAX_REASON),
        seconds,
        created_at: now,
        expires_at: now + OPEN_MS,
        decided_by: None,
        decided_at: None,
        decision_reason: None,
        granted_until: None,
    };
    pipeline.store.request_access(row.clone()).await?;
    tracing::info!(request = %row.id, user = %row.requester, device = %row.device.1, "access was requested");
    pipeline.bus.publish(Change::AccessRequest(row.id));
    Ok(row)
}

/// Returns a request that this person may see: their own, or any for an admin. `id` may be shortened.
///
/// # Errors
/// There is no such request, or the database cannot be read.
pub async fn visible(
    pipeline: &Pipeline,
    caller: &Caller,
    id: &str,
) -> Result<AccessRequestRow, AccessError> {
    const NONE: AccessError = AccessError::NotFound;
    let row = match pipeline.store.find_access_request(id).await {
        Ok(row) => row,
        Err(StoreError::NotFound) => return Err(NONE),
        Err(error) => return Err(error.into()),
    };
    if row.requester != caller.user && caller.role != Role::Admin { Err(NONE) } else { Ok(row) }
}

/// Returns why an open request cannot be granted at this moment: its call would be denied even so. None if
/// it can.
///
/// # Errors
/// The database cannot be read.
pub async fn obstacle(
    pipeline: &Pipeline,
    row: &AccessRequestRow,
) -> Result<Option<ToolError>, StoreError> {
    match check(pipeline, row).await {
        Ok(()) => Ok(None),
        Err(AccessError::NotGrantable(error)) => Ok(Some(*error)),
        Err(AccessError::Store(error)) => Err(error),
        Err(error) => Ok(Some(ToolError::new(ErrorCode::PreconditionFailed, error.to_string()))),
    }
}

/// Grants a request for a time, as it was shown: `digest` is of what the admin saw. `seconds` is for how long;
/// 0 for as long as was asked for.
///
/// # Errors
/// [`AccessError`]; then nothing was granted.
pub async fn grant(
    pipeline: &Arc<Pipeline>,
    by: &Caller,
    id: &str,
    digest: Digest,
    seconds: u64,
    reason: &str,
) -> Result<AccessRequestRow, AccessError> {
    let row = visible(pipeline, by, id).await?;
    let state = row.state_at(now_ms());
    if state != AccessRequestState::Open {
        return Err(AnswerAccessError::NotOpen(state).into());
    }
    let asked = u64::try_from(row.seconds).unwrap_or_default();
    let seconds = bounded(if seconds == 0 { asked } else { seconds })?;
    check(pipeline, &row).await?;
    let until = Some(now_ms().saturating_add(seconds * 1000));
    answer(pipeline, by, (row.id, digest, until), reason).await
}

/// Refuses a request.
///
/// # Errors
/// [`AccessError`].
pub async fn refuse(
    pipeline: &Arc<Pipeline>,
    by: &Caller,
    id: &str,
    reason: &str,
) -> Result<AccessRequestRow, AccessError> {
    let row = visible(pipeline, by, id).await?;
    answer(pipeline, by, (row.id, row.digest, None), reason).await
}

/// Withdraws an open request, or ends what was granted: one's own, or any for an admin.
///
/// # Errors
/// [`AccessError`].
pub async fn end(
    pipeline: &Arc<Pipeline>,
    by: &Caller,
    id: &str,
) -> Result<AccessRequestRow, AccessError> {
    let row = visible(pipeline, by, id).await?;
    let (shared, user) = (Arc::clone(pipeline), by.user.clone());
    let work = async move {
        let row = shared.store.end_access_request(row.id, &user, now_ms()).await?;
        reload(&shared, &row).await?;
        Ok(row)
    };
    pipeline.tasks.run_to_completion(work).await
}

async fn answer(
    pipeline: &Arc<Pipeline>,
    by: &Caller,
    (id, digest, until): (AccessRequestId, Digest, Option<i64>),
    reason: &str,
) -> Result<AccessRequestRow, AccessError> {
    let reason = strip_hidden(reason, MAX_REASON);
    let answer = AccessAnswer { id, digest, until, by: by.user.clone(), reason };
    let shared = Arc::clone(pipeline);
    let work = async move {
        let row = shared.store.answer_access_request(answer, now_ms()).await?;
        tracing::info!(request = %row.id, state = row.state.as_str(), "an access request was answered");
        reload(&shared, &row).await?;
        Ok(row)
    };
    pipeline.tasks.run_to_completion(work).await
}

/// Applies the end of a request to its device.
async fn reload(pipeline: &Pipeline, row: &AccessRequestRow) -> Result<(), StoreError> {
    if row.granted_until.is_some() {
        refresh(&pipeline.devices, row.device.0).await?;
    }
    pipeline.bus.publish(Change::AccessRequest(row.id));
    Ok(())
}

fn bounded(seconds: u64) -> Result<i64, AccessError> {
    let is_possible = (1..=MAX_SECONDS).contains(&seconds);
    i64::try_from(seconds).ok().filter(|_| is_possible).ok_or(AccessError::Duration)
}

/// Returns a call that this person made. An admin asks for nobody else.
async fn own_call(pipeline: &Pipeline, caller: &Caller, id: &str) -> Result<CallRow, AccessError> {
    const NONE: AccessError = AccessError::NoCall;
    match calls::visible(pipeline, caller, id).await {
        Ok(row) if row.caller.user == caller.user => Ok(row),
        Ok(_) | Err(StoreError::NotFound) => Err(NONE),
        Err(error) => Err(error.into()),
    }
}

/// Evaluates a denied call as it would be evaluated now, with its requester's current role.
async fn evaluated(
    pipeline: &Pipeline,
    caller: Caller,
    row: &CallRow,
) -> Result<EvaluatedCall, AccessError> {
    let Some((device, _)) = &row.device else {
        let message = "This call found no device, so no device can grant it.";
        return Err(refused(ToolError::new(ErrorCode::PreconditionFailed, message)));
    };
    let request = CallRequest {
        tool: row.tool.clone(),
        device: Some(device.to_string()),
        arguments: secrets::whole(row).unwrap_or_default(),
        ..CallRequest::default()
    };
    // What a chat contains is of no account for what is granted.
    let context = CallContext::new(Caller { conversation: None, ..caller }, request);
    let target = validate::target(pipeline, &context.request).map_err(refused)?;
    let device = target.device.for_calls(&target.spec.facts(), &context.caller);
    let target = Target { device, ..target };
    let arguments = context.request.arguments.clone();
    let parsed = validate::arguments(pipeline, &context.caller, &target, arguments).await?;
    let parsed = parsed.map_err(refused)?;
    Ok(authorize::call(context, target, parsed, Counts::default()).as_if_small())
}

/// Checks that granting a request would let its call run, and that the call needs it.
async fn check(pipeline: &Pipeline, row: &AccessRequestRow) -> Result<(), AccessError> {
    let user = match pipeline.store.user(&row.requester).await {
        Ok(user) if user.disabled_at.is_none() => user,
        Ok(_) | Err(StoreError::NotFound) => {
            let message = format!("{} is disabled and may do nothing.", row.requester);
            return Err(refused(ToolError::new(ErrorCode::PreconditionFailed, message)));
        }
        Err(error) => return Err(error.into()),
    };
    let caller = Caller { user: row.requester.clone(), role: user.role, conversation: None };
    let call = pipeline.store.call(row.call).await?;
    let call = evaluated(pipeline, caller, &call).await?;
    if call.decision() != Decision::Deny {
        return Err(not_grantable(NotGrantable::NotNeeded));
    }
    match call.denials_with(row.grant.clone()) {
        hints if hints.is_empty() => Ok(()),
        hints => Err(not_grantable(NotGrantable::Blocked(hints))),
    }
}

fn not_grantable(why: NotGrantable) -> AccessError {
    let (code, message, hints) = match why {
        NotGrantable::NotNeeded => (
            ErrorCode::PreconditionFailed,
            "The grants of the device do not deny this call now.",
            vec![Hint::new("make the call again")],
        ),
        NotGrantable::Blocked(hints) => (
            ErrorCode::PermissionDenied,
            "No temporary grant lets this call run, because something else denies it too.",
            hints,
        ),
    };
    let mut error = ToolError::new(code, message);
    error.hints.extend(hints);
    refused(error)
}

fn refused(error: ToolError) -> AccessError {
    AccessError::NotGrantable(Box::new(error))
}
