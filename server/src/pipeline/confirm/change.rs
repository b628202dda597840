//! An approver changes a call: the call is rejected, and the one that the approver wrote runs in its place,
//! for the same person.

mod approve;
mod needs;

use std::sync::Arc;

use orion_domain::{CallRequest, Caller, ErrorCode, ToolError};
use serde_json::{Map, Value};

use super::answer::{AnswerError, AnswerResult, Ballot, record_refused, vote};
use super::approved;
use crate::clock::now_ms;
use crate::pipeline::call::{CallContext, Origin};
use crate::pipeline::evaluate::measured;
use crate::pipeline::secrets::put_back;
use crate::pipeline::{Pipeline, reauthorize};
use crate::store::{ApprovalRow, ApprovalState, CallRow, DecideError};

use approve::approve;
pub(in crate::pipeline) use needs::is_within;

/// Rejects the requested call and makes the changed one. If this person may approve the changed call alone,
/// this answer approves it. If it needs more, it gets an approval request like any call.
///
/// # Errors
/// See [`AnswerError`]; then the approval request stays open.
pub(super) async fn change(
    pipeline: &Arc<Pipeline>,
    by: &Caller,
    row: ApprovalRow,
    arguments: Map<String, Value>,
    reason: String,
) -> Result<AnswerResult, AnswerError> {
    if row.state != ApprovalState::Open {
        return Err(DecideError::AlreadyDecided(row.state).into());
    }
    may_change(pipeline, by, &row).await?;
    let call = pipeline.store.call(row.call).await?;
    let refused = |error| AnswerError::Changed(Box::new(error));
    let asker = reauthorize::person(pipeline, &call.caller, call.token).await?.map_err(refused)?;
    let context = changed(by, asker, &row, &call, arguments);
    let evaluated = measured(pipeline, context.clone()).await.map_err(AnswerError::unstored)?;
    let evaluated = evaluated.map_err(|stopped| refused(stopped.error))?;
    let author = Caller { conversation: call.caller.conversation, ..by.clone() };
    is_within(pipeline, author, &evaluated)
        .await
        .map_err(AnswerError::unstored)?
        .map_err(refused)?;
    if evaluated.parsed.arguments.digest() == call.arguments_digest {
        return Err(refused(
            ToolError::new(
                ErrorCode::InvalidArgument,
                "These are the arguments that the call has already.",
            )
            .hint("approve it as it is"),
        ));
    }
    // The evaluation takes a while.
    may_change(pipeline, by, &row).await?;
    let new = context.id;
    let words = format!("Changed into another call, {new}. {reason}").trim_end().to_owned();
    let decided = vote(pipeline, by, &row, Ballot::once(false, words)).await?;
    let error = ToolError::new(
        ErrorCode::ApprovalRejected,
        format!("{} changed this call into another, which was made instead: {new}.", by.user),
    )
    .with("changed_to", new.to_string());
    // Waiters for the original call must not wait until the new one has run.
    approved::close_asked(pipeline, &decided, error).await.map_err(AnswerError::unstored)?;
    // The preview that measured the call is shown to the next approver as well.
    let context = CallContext { preview: evaluated.context.preview.clone(), ..context };
    let made = pipeline.resume(context, None).await.map_err(AnswerError::unstored)?;
    let made = approve(pipeline, by, &evaluated, made, reason).await?;
    Ok(AnswerResult { row: decided, changed: Some(made) })
}

/// Checks that the person may approve the call: a call that they may not approve they may not change.
async fn may_change(
    pipeline: &Pipeline,
    by: &Caller,
    row: &ApprovalRow,
) -> Result<(), AnswerError> {
    let held =
        reauthorize::person(pipeline, by, None).await?.map(|person| person.role.min(by.role));
    if held.is_ok_and(|role| role >= row.approvers.role) {
        return Ok(());
    }
    record_refused(pipeline, by, row).await?;
    Err(DecideError::role(row).into())
}

/// Returns the changed call, for the person who made the other one.
fn changed(
    by: &Caller,
    asker: Caller,
    row: &ApprovalRow,
    call: &CallRow,
    mut arguments: Map<String, Value>,
) -> CallContext {
    put_back(call, &mut arguments);
    let created_at = now_ms();
    let left = call.queued_until.map(|until| until - created_at).filter(|left| *left > 0);
    let left = left.and_then(|left| u64::try_from(left).ok());
    let author = Caller { conversation: asker.conversation, ..by.clone() };
    let request = CallRequest {
        tool: call.tool.clone(),
        device: Some(row.device.0.to_string()),
        arguments,
        dry_run: false,
        timeout_ms: u64::try_from(call.deadline_at - call.created_at).ok(),
        idempotency_key: None,
        // The new call waits for its device no longer than the original would have.
        queue: Some(left.is_some()),
        queue_ms: left,
        recovered: false,
    };
    CallContext {
        provenance: row.card.provenance.clone(),
        token: call.token,
        created_at,
        origin: Origin::Change { author },
        is_fresh: false,
        ..CallContext::new(asker, request)
    }
}
