//! Brings a file from one device to another: joins a running call of `transfer_file` with a call of `download_file`
//! that the backend makes on the other device for the same person. Both are evaluated, approved and recorded like any
//! call, and neither outlives the other.

use std::sync::Arc;
use std::time::Duration;

use orion_catalog::Tool as _;
use orion_catalog::tools::download_file::{DownloadFile, Returns};
use orion_catalog::tools::transfer_file;
use orion_domain::evaluate::Decision;
use orion_domain::{
    Actor, CallId, CallRequest, CallState, Digest, Envelope, ErrorCode, Hint, ToolError,
};
use serde_json::{Map, Value, json};
use tokio::time::{sleep, timeout};

use super::{Asked, ContentError, ask, evaluated, may_go_on, over, silent, wait_for_end};
use crate::clock::now_ms;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::CallContext;
use crate::pipeline::{Pipeline, cancel, reauthorize};
use crate::store::{CallRow, StoreError};
use crate::transfers::{ContentAnswer, ContentRequest};

/// How often the destination hears that its source still waits, before it gives up.
const WAITING_INTERVAL: Duration = Duration::from_secs(30);

/// How long a cancel may take to arrive that ends both calls.
const CANCEL_GRACE: Duration = Duration::from_secs(1);

/// An offset that no part has: a device that is asked to write there says how much it has.
const NOWHERE: u64 = u64::MAX;

/// Starts to bring the file of a running call. That happens once for a call: a device that opens another stream, or
/// does not end its call after a failure, starts no second reading of the source.
pub fn begin(pipeline: &Arc<Pipeline>, call: CallId) {
    if !pipeline.transfers.begin_bringing(call) {
        return;
    }
    let pipeline = Arc::clone(pipeline);
    pipeline.tasks.background.clone().spawn(async move {
        let closing = pipeline.tasks.closing.clone();
        let until_its_end = async {
            bring(&pipeline, call).await;
            if let Err(error) = wait_for_end(&pipeline, call).await {
                tracing::warn!(%error, %call, "the end of a transfer is not known");
            }
        };
        tokio::select! {
            () = closing.cancelled() => {}
            () = until_its_end => {}
        }
        pipeline.transfers.end_bringing(call);
    });
}

/// Returns why the source of this call cannot be read. None for a source that can be, and for calls of other tools.
///
/// # Errors
/// The database cannot be read.
pub(super) async fn refusal_of_source(
    pipeline: &Pipeline,
    call: &EvaluatedCall,
) -> Result<Option<ToolError>, StoreError> {
    if call.target.spec.name != transfer_file::TransferFile::NAME {
        return Ok(None);
    }
    let Some(request) = source(&call.context.request.arguments) else { return Ok(None) };
    let context = CallContext {
        provenance: call.context.provenance.clone(),
        ..CallContext::new(call.context.caller.clone(), request)
    };
    Ok(match evaluated(pipeline, context).await? {
        Ok(read) if read.decision() == Decision::Deny => {
            let error = of_source(read.refusal());
            let offers = read.is_requestable() && !call.context.is_preview();
            Some(if offers { offering_request(&read, error) } else { error })
        }
        Ok(_) => None,
        Err(error) => Some(of_source(error)),
    })
}

/// Adds how the person asks for access to the source: the denied call itself is of the destination.
fn offering_request(read: &EvaluatedCall, error: ToolError) -> ToolError {
    let path = read.context.request.arguments.get("path").and_then(Value::as_str).unwrap_or("");
    // A path that a shell would not read as it is written is left to the person.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._:-".contains(c);
    let path = if path.chars().all(is_plain) { path } else { "PATH" };
    let command =
        format!("orion request {} {} path={path}", read.target.device.name, DownloadFile::NAME);
    error.hint(Hint::run("ask for temporary access", command))
}

/// Returns the call that reads the source.
fn source(arguments: &Map<String, Value>) -> Option<CallRequest> {
    let text = |name: &str| arguments.get(name)?.as_str().map(ToOwned::to_owned);
    let arguments = json!({"path": text("from_path")?});
    Some(CallRequest {
        tool: DownloadFile::NAME.to_owned(),
        device: Some(text("from_device")?),
        arguments: arguments.as_object()?.clone(),
        ..CallRequest::default()
    })
}

fn of_source(error: ToolError) -> ToolError {
    ToolError { message: format!("The source: {}", error.message), ..error }
}

/// Brings the file, and ends both calls.
async fn bring(pipeline: &Arc<Pipeline>, call: CallId) {
    let mut reading = None;
    let brought = tokio::select! {
        brought = join(pipeline, call, &mut reading) => brought,
        // Cancelled, stopped or given up by the device.
        _ = wait_for_end(pipeline, call) => Ok(()),
    };
    // What ends the reading call may be cancelling this one as well.
    let fails =
        brought.is_err() && timeout(CANCEL_GRACE, wait_for_end(pipeline, call)).await.is_err();
    if let Some(reading) = reading
        && let Err(error) = end_reading(pipeline, reading).await
    {
        tracing::warn!(%error, call = %reading, "the reading call of a transfer could not be ended");
    }
    if let (true, Err(error)) = (fails, brought) {
        let error = match error {
            ContentError::Refused(error) | ContentError::Denied(error) => *error,
            ContentError::Store(_) => {
                ToolError::new(ErrorCode::Internal, "The database does not respond.")
            }
        };
        // A destination that is not connected gives up by itself.
        if let Err(error) = ask(pipeline, call, ContentRequest::Failed(error)).await {
            tracing::warn!(%error, %call, "the destination of a transfer was not asked to end");
        }
    }
}

async fn end_reading(pipeline: &Pipeline, reading: CallId) -> Result<(), StoreError> {
    let row = pipeline.store.call(reading).await?;
    if row.state.is_closed() {
        return Ok(());
    }
    let user = row.caller.user.clone();
    let message = "The transfer that this call read for has ended.".to_owned();
    cancel::end(pipeline, &user, row, message).await.map(drop)
}

async fn join(
    pipeline: &Arc<Pipeline>,
    call: CallId,
    reading: &mut Option<CallId>,
) -> Result<(), ContentError> {
    let row = pipeline.store.call(call).await?;
    let stored = CallContext::stored(row.clone(), None)?;
    let request = source(&stored.request.arguments).ok_or(StoreError::Corrupt)?;
    let context = CallContext {
        token: row.token,
        provenance: stored.provenance,
        moves_content: true,
        is_fresh: false,
        background: true,
        ..CallContext::new(row.caller.clone(), request)
    };
    let read = context.id;
    *reading = Some(read);
    pipeline.start(context).await?;
    let joined = json!({"destination": call.to_string()});
    pipeline.store.audit_call_event("call.transfer", read, joined, now_ms()).await?;
    let read_row = wait_until_running(pipeline, call, read).await?;
    let mut offset = received(pipeline, call).await?;
    loop {
        // What holds now decides on each part, on both devices.
        still_allowed(pipeline, &row).await?;
        still_allowed(pipeline, &read_row).await.map_err(|error| match error {
            ContentError::Denied(error) => of_source(*error).into(),
            error @ (ContentError::Refused(_) | ContentError::Store(_)) => error,
        })?;
        let wanted = ContentRequest::Read { offset };
        let ContentAnswer::Part { content, size } = of_reading(pipeline, read, wanted).await?
        else {
            return Err(silent().into());
        };
        if offset > size {
            return Err(inconsistent().into());
        }
        if content.is_empty() {
            break;
        }
        let after = offset.saturating_add(content.len() as u64);
        // Each part is read once: a destination that has another one than it got would have it read again.
        let part = ContentRequest::Write { offset, content, size };
        if written(pipeline, call, part).await? != after {
            return Err(inconsistent().into());
        }
        offset = after;
    }
    let digest = end_of_reading(pipeline, read).await?;
    written(pipeline, call, ContentRequest::Done(Some(digest))).await.map(drop)
}

/// Checks that the person may still make the call.
async fn still_allowed(pipeline: &Pipeline, row: &CallRow) -> Result<(), ContentError> {
    let person = reauthorize::person(pipeline, &row.caller, row.token).await?;
    may_go_on(pipeline, &person?, row.clone()).await
}

/// Waits until the reading call runs. While it does, the destination hears that its source is still awaited.
async fn wait_until_running(
    pipeline: &Pipeline,
    call: CallId,
    read: CallId,
) -> Result<CallRow, ContentError> {
    let mut changes = pipeline.bus.watch_call(read);
    loop {
        let row = pipeline.store.call(read).await?;
        match row.state {
            CallState::Dispatched | CallState::Running => return Ok(row),
            CallState::Received | CallState::AwaitingApproval | CallState::Queued => {}
            CallState::Denied
            | CallState::Succeeded
            | CallState::Failed
            | CallState::Refused
            | CallState::TimedOut
            | CallState::Cancelled
            | CallState::Unknown => return Err(failure(&row).into()),
        }
        tokio::select! {
            () = changes.changed() => {}
            () = sleep(WAITING_INTERVAL) => drop(received(pipeline, call).await?),
        }
    }
}

/// Returns how much the destination has.
async fn received(pipeline: &Pipeline, call: CallId) -> Result<u64, ContentError> {
    let content = orion_wire::Bytes::new();
    let ask = ContentRequest::Write { offset: NOWHERE, content, size: 0 };
    written(pipeline, call, ask).await
}

async fn written(
    pipeline: &Pipeline,
    call: CallId,
    request: ContentRequest,
) -> Result<u64, ContentError> {
    match ask(pipeline, call, request).await? {
        Asked::Answered(ContentAnswer::Received(received)) => Ok(received),
        Asked::Answered(ContentAnswer::Part { .. }) | Asked::Silent => Err(silent().into()),
        Asked::Ended(state) => Err(over(state)),
    }
}

/// Moves one part of the reading call. If that call ends, its error is returned.
async fn of_reading(
    pipeline: &Pipeline,
    read: CallId,
    request: ContentRequest,
) -> Result<ContentAnswer, ContentError> {
    match ask(pipeline, read, request).await? {
        Asked::Answered(answer) => Ok(answer),
        Asked::Silent => Err(of_source(silent()).into()),
        Asked::Ended(_) => Err(failure(&pipeline.store.call(read).await?).into()),
    }
}

/// Ends the reading call, and returns the digest that it reports.
async fn end_of_reading(pipeline: &Pipeline, read: CallId) -> Result<Digest, ContentError> {
    match ask(pipeline, read, ContentRequest::Done(None)).await? {
        Asked::Ended(_) => {}
        Asked::Answered(_) | Asked::Silent => return Err(of_source(silent()).into()),
    }
    let row = pipeline.store.call(read).await?;
    let data = envelope(&row).and_then(|envelope| envelope.data);
    let returned: Option<Returns> = data.and_then(|data| serde_json::from_value(data).ok());
    let digest = returned.and_then(|returned| returned.sha256.parse().ok());
    digest.ok_or_else(|| failure(&row).into())
}

/// Returns the error for a destination that reports another number of bytes than it got.
fn inconsistent() -> ToolError {
    let message = "The device reports another number of bytes than it was sent, so the transfer was ended and \
        nothing is read again.";
    ToolError::new(ErrorCode::ExecutionFailed, message).hint(
        Hint::new("update the agent of that device, and copy the file again").by(Actor::Owner),
    )
}

fn envelope(row: &CallRow) -> Option<Envelope> {
    serde_json::from_slice(row.result.as_deref()?).ok()
}

/// Returns the error of a reading call that ended.
fn failure(row: &CallRow) -> ToolError {
    let error = envelope(row).and_then(|envelope| envelope.error);
    of_source(error.unwrap_or_else(|| {
        let how = row.state.as_str().replace('_', " ");
        ToolError::new(ErrorCode::ExecutionFailed, format!("The call there has ended ({how})."))
    }))
}
