//! The content that moves beside a call: whose part it is, whether the call still may run, and the part itself. A part
//! is evaluated like its call, with what holds at that moment.

pub mod bring;

use std::time::Duration;

use orion_catalog::{Content, find};
use orion_domain::evaluate::Decision;
use orion_domain::rule::Quantity;
use orion_domain::{CallId, CallState, Caller, DeviceId, ErrorCode, Hint, ToolError};
use tokio::time::timeout;

use super::authorize::{self, Counts, EvaluatedCall};
use super::call::CallContext;
use super::evaluate::{self, Unread};
use super::{Pipeline, cancel, validate};
use crate::store::{CallRow, StoreError};
use crate::transfers::{ContentAnswer, ContentRequest};

/// How long one part may take, a lost connection of the device included.
const PART_TIMEOUT: Duration = Duration::from_secs(60);

/// Why a part did not move.
#[derive(Debug)]
pub enum ContentError {
    /// The person reads this error.
    Refused(Box<ToolError>),
    /// The call is denied by now and was cancelled.
    Denied(Box<ToolError>),
    /// The database failed.
    Store(StoreError),
}

impl From<StoreError> for ContentError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<ToolError> for ContentError {
    fn from(error: ToolError) -> Self {
        Self::Refused(Box::new(error))
    }
}

/// Moves one part of a call's content, for the person who made the call.
///
/// # Errors
/// There is no such call of this person, it does not run, it may not run any more, or its device does not answer.
pub async fn part(
    pipeline: &Pipeline,
    caller: &Caller,
    (call, content): (&str, Content),
    request: ContentRequest,
) -> Result<ContentAnswer, ContentError> {
    let row = own_call(pipeline, caller, (call, content)).await?;
    let id = row.id;
    may_go_on(pipeline, caller, row).await?;
    match ask(pipeline, id, request).await? {
        Asked::Answered(answer) => Ok(answer),
        Asked::Silent => Err(silent().into()),
        Asked::Ended(state) => Err(over(state)),
    }
}

/// Tells the device of a call that the person has everything, and waits for the end of the call.
///
/// # Errors
/// As [`part`].
pub async fn done(pipeline: &Pipeline, caller: &Caller, call: &str) -> Result<(), ContentError> {
    let row = match own_call(pipeline, caller, (call, Content::ToPerson)).await {
        // It was said before, and its answer was lost.
        Err(ContentError::Refused(error)) if error.details.contains_key(ENDED) => return Ok(()),
        row => row?,
    };
    let id = row.id;
    may_go_on(pipeline, caller, row).await?;
    match ask(pipeline, id, ContentRequest::Done(None)).await? {
        Asked::Ended(_) => Ok(()),
        Asked::Answered(_) | Asked::Silent => Err(silent().into()),
    }
}

/// What became of a request to the device of a call.
#[derive(Debug)]
enum Asked {
    /// The device answered.
    Answered(ContentAnswer),
    /// It did not answer in time.
    Silent,
    /// The call ended before it answered.
    Ended(CallState),
}

/// Sends a request to the device of a call, and waits for the answer or for the end of the call.
async fn ask(
    pipeline: &Pipeline,
    call: CallId,
    request: ContentRequest,
) -> Result<Asked, StoreError> {
    tokio::select! {
        answer = timeout(PART_TIMEOUT, pipeline.transfers.exchange(call, request)) => {
            Ok(answer.map_or(Asked::Silent, Asked::Answered))
        }
        ended = wait_for_end(pipeline, call) => ended.map(Asked::Ended),
    }
}

/// The detail of an error that says that the call has ended.
const ENDED: &str = "ended";

/// Returns a call of this person that runs and moves its content this way.
async fn own_call(
    pipeline: &Pipeline,
    caller: &Caller,
    (call, content): (&str, Content),
) -> Result<CallRow, ContentError> {
    let id: CallId = call.parse().map_err(|_| StoreError::NotFound)?;
    let row = pipeline.store.call(id).await?;
    // Nobody else attaches to a call, an admin neither.
    if row.caller.user != caller.user {
        return Err(StoreError::NotFound.into());
    }
    let moves = find(&row.tool).map_or(Content::InCall, |(spec, _)| spec.content);
    if moves != content || row.dry_run {
        let message = format!("No content of this call of {} moves this way.", row.tool);
        return Err(ToolError::new(ErrorCode::PreconditionFailed, message).into());
    }
    match row.state {
        // A device that is back goes on with a call whose end was not known.
        CallState::Dispatched | CallState::Running | CallState::Unknown => Ok(row),
        CallState::Received | CallState::AwaitingApproval | CallState::Queued => {
            let message = "The call does not run yet, so its content cannot move.";
            let error = ToolError::new(ErrorCode::PreconditionFailed, message);
            Err(error.hint(Hint::run("follow it", format!("orion calls watch {id}"))).into())
        }
        CallState::Denied
        | CallState::Succeeded
        | CallState::Failed
        | CallState::Refused
        | CallState::TimedOut
        | CallState::Cancelled => Err(over(row.state)),
    }
}

/// Evaluates the running call again. A call that is denied by now is cancelled.
async fn may_go_on(pipeline: &Pipeline, caller: &Caller, row: CallRow) -> Result<(), ContentError> {
    let error = match denial(pipeline, caller, row.clone()).await? {
        None => return Ok(()),
        Some(error) => error,
    };
    let message = "What is allowed has changed, so this call was cancelled.".to_owned();
    cancel::end(pipeline, &caller.user, row, message).await?;
    Err(ContentError::Denied(Box::new(error)))
}

async fn denial(
    pipeline: &Pipeline,
    caller: &Caller,
    row: CallRow,
) -> Result<Option<ToolError>, StoreError> {
    let was_approved = row.approval.is_some();
    let mut context = CallContext::stored(row, None)?;
    // Never with a higher role than the call was made with.
    context.caller.role = caller.role.min(context.caller.role);
    Ok(match evaluated(pipeline, context).await? {
        Ok(call) if call.decision() == Decision::Allow => None,
        // A call that was approved goes on where it would be asked about again.
        Ok(call) if call.decision() != Decision::Deny && was_approved => None,
        Ok(call) => Some(call.refusal()),
        Err(error) => Some(error),
    })
}

async fn evaluated(
    pipeline: &Pipeline,
    context: CallContext,
) -> Result<Result<EvaluatedCall, ToolError>, StoreError> {
    let target = match evaluate::target(pipeline, &context) {
        Ok(target) => target,
        Err(unread) => {
            let Unread { refused, .. } = *unread;
            return Ok(Err(refused.error));
        }
    };
    if let Some(error) = pipeline.stops.refusal(&context.caller.user, target.device.id) {
        return Ok(Err(error));
    }
    let arguments = context.request.arguments.clone();
    let parsed = match validate::arguments(pipeline, &context.caller, &target, arguments).await? {
        Ok(parsed) => parsed,
        Err(error) => return Ok(Err(error)),
    };
    // The call was counted when it was sent.
    let quantity = Some(Quantity { entries: Some(0), bytes: Some(0) });
    let counts = Counts { quantity, ..Counts::default() };
    Ok(Ok(authorize::call(context, target, parsed, counts)))
}

/// Returns where the content of a call moves, if this device may open its stream: the call was sent to it, and runs.
///
/// # Errors
/// The database cannot be read.
pub async fn serves(
    pipeline: &Pipeline,
    device: DeviceId,
    call: CallId,
) -> Result<Option<Content>, StoreError> {
    let row = match pipeline.store.call(call).await {
        Ok(row) => row,
        Err(StoreError::NotFound) => return Ok(None),
        Err(error) => return Err(error),
    };
    let is_its_own = row.device.as_ref().is_some_and(|(id, _)| *id == device);
    let content = find(&row.tool).map(|(spec, _)| spec.content).filter(|it| it.is_beside());
    let runs = [CallState::Dispatched, CallState::Running, CallState::Unknown].contains(&row.state);
    Ok(content.filter(|_| is_its_own && runs && !row.dry_run))
}

/// Waits until a call has ended, and returns its state.
///
/// # Errors
/// The database cannot be read.
pub async fn wait_for_end(pipeline: &Pipeline, call: CallId) -> Result<CallState, StoreError> {
    let mut changes = pipeline.bus.watch_call(call);
    loop {
        let row = pipeline.store.call(call).await?;
        // A call whose device is not connected may still run there.
        if row.state.is_closed() && row.state != CallState::Unknown {
            return Ok(row.state);
        }
        changes.changed().await;
    }
}

/// Returns why the content of a call cannot move: no client brings it, or its source cannot be read. None for any
/// other call.
///
/// # Errors
/// The database cannot be read.
pub(super) async fn refusal(
    pipeline: &Pipeline,
    call: &EvaluatedCall,
) -> Result<Option<ToolError>, StoreError> {
    match refusal_without_client(call) {
        Some(error) => Ok(Some(error)),
        None => bring::refusal_of_source(pipeline, call).await,
    }
}

/// Returns the error for a call that only a person's client can run, if no client brings its content. None for any
/// other call, and for a preview.
fn refusal_without_client(call: &EvaluatedCall) -> Option<ToolError> {
    let EvaluatedCall { context, target, .. } = call;
    let is_new = context.stored_call().is_none();
    let needs = target.spec.content.needs_client() && is_new && !context.request.dry_run;
    if !needs || context.moves_content {
        return None;
    }
    let device = &target.device.name;
    let path = context.request.arguments.get("path").and_then(|path| path.as_str());
    let path = path.unwrap_or_default();
    let (message, why, command) = match target.spec.content {
        Content::FromPerson => (
            "The content of an upload comes from the person, who has to send it.",
            "ask the person to run this command with their file",
            format!("orion cp FILE {device}:{path}"),
        ),
        Content::ToPerson | Content::InCall | Content::FromDevice => (
            "The content of a download goes to the person, who has to fetch it.",
            "ask the person to run this command",
            format!("orion cp {device}:{path} ."),
        ),
    };
    let error = ToolError::new(ErrorCode::PreconditionFailed, message);
    Some(error.hint(Hint::run(why, command)))
}

fn silent() -> ToolError {
    ToolError::new(
        ErrorCode::DeviceOffline,
        "The device did not answer for a minute. The transfer continues when it is back.",
    )
    .hint("try the part again")
}

fn over(state: CallState) -> ContentError {
    let how = state.as_str().replace('_', " ");
    let message = format!("The call has ended ({how}), so no more of its content moves.");
    ToolError::new(ErrorCode::PreconditionFailed, message).with(ENDED, state.as_str()).into()
}
