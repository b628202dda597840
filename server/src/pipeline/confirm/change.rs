//! An approver changes a call: the call is rejected, and the one that the approver wrote runs in its place, for
//! the same person.

use std::sync::Arc;

use orion_domain::evaluate::Decision;
use orion_domain::rule::Approvers;
use orion_domain::{CallRequest, Caller, ErrorCode, ToolError};
use serde_json::{Map, Value};

use super::answer::{AnswerError, AnswerResult, record_refused, vote};
use super::approved;
use crate::clock::now_ms;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::{CallContext, Origin, Previewed};
use crate::pipeline::evaluate::measured;
use crate::pipeline::result::DeviceReport;
use crate::pipeline::view::CallView;
use crate::pipeline::{Pipeline, reauthorize};
use crate::store::{ApprovalRow, ApprovalScope, ApprovalState, CallRow, DecideError, StoreError};

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
    let call = pipeline.store.call(&row.call.to_string()).await?;
    let refused = |error| AnswerError::Changed(Box::new(error));
    let asker = reauthorize::person(pipeline, &call.caller, call.token).await?.map_err(refused)?;
    let context = changed(by, asker, &row, &call, arguments);
    let evaluated = measured(pipeline, context.clone()).await.map_err(AnswerError::unstored)?;
    let mut evaluated = evaluated.map_err(|stopped| refused(stopped.error))?;
    // The preview that measured the call is shown to the next approver as well.
    let report = evaluated.context.preview.as_mut().and_then(|it| it.report.take());
    DeviceReport::record_any(report, pipeline).await.map_err(AnswerError::unstored)?;
    let author = Caller { conversation: call.caller.conversation, ..by.clone() };
    is_within(pipeline, author, &evaluated)
        .await
        .map_err(AnswerError::unstored)?
        .map_err(refused)?;
    if evaluated.parsed.arguments.as_bytes() == row.arguments {
        return Err(refused(ToolError::new(
            ErrorCode::InvalidArgument,
            "These are the arguments that the call has already. Approve it as it is.",
        )));
    }
    // The evaluation takes a while.
    may_change(pipeline, by, &row).await?;
    let new = context.id;
    let words = format!("Changed into another call, {new}. {reason}").trim_end().to_owned();
    let decided = vote(pipeline, by, &row, false, words, ApprovalScope::Once).await?;
    let error = ToolError::new(
        ErrorCode::ApprovalRejected,
        format!("{} changed this call into another, which was made instead: {new}.", by.user),
    )
    .with("changed_to", new.to_string());
    // Waiters for the original call must not wait until the new one has run.
    approved::close_asked(pipeline, &decided, error).await.map_err(AnswerError::unstored)?;
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
    let needed = row.approvers.role;
    let held =
        reauthorize::person(pipeline, by, None).await?.map(|person| person.role.min(by.role));
    if held.is_ok_and(|role| role >= needed) {
        return Ok(());
    }
    record_refused(pipeline, by, row).await?;
    Err(DecideError::Role { risk: row.risk, needed }.into())
}

/// What the changed call would need if its author made it.
struct Needs {
    decision: Decision,
    approvers: Approvers,
    preview_first: bool,
    refusal: ToolError,
}

impl Needs {
    fn of(evaluated: &EvaluatedCall) -> Self {
        Self {
            decision: evaluated.decision(),
            approvers: evaluated.approvers(),
            preview_first: evaluated.preview_first(),
            refusal: evaluated.refusal(),
        }
    }

    /// Checks that the call needs no less when it is made for the requester.
    fn allow(self, evaluated: &EvaluatedCall) -> Result<(), ToolError> {
        if evaluated.decision() == Decision::Deny {
            return Err(evaluated.refusal());
        }
        let is_no_stricter = match self.decision {
            Decision::Deny => return Err(self.refusal),
            Decision::Allow => true,
            Decision::DryRunFirst | Decision::Ask => {
                evaluated.decision() != Decision::Allow
                    && evaluated.approvers().and(self.approvers) == evaluated.approvers()
                    && (evaluated.preview_first() || !self.preview_first)
            }
        };
        if is_no_stricter {
            return Ok(());
        }
        Err(ToolError::new(
            self.refusal.code,
            "This call needs more when you make it than when the one who asked does. Say no to theirs, and make yours yourself.",
        ))
    }
}

/// Checks that a changed call needs no less for its requester than for its author: nobody gets in another's
/// name what they would not get in their own.
///
/// # Errors
/// The database cannot be read or written. The inner error is for the author.
pub(in crate::pipeline) async fn is_within(
    pipeline: &Arc<Pipeline>,
    author: Caller,
    evaluated: &EvaluatedCall,
) -> Result<Result<(), ToolError>, StoreError> {
    // The report of a preview is stored with the call, and not twice.
    let preview = evaluated.context.preview.clone().map(|it| Previewed { report: None, ..it });
    let own = CallContext {
        caller: author,
        origin: Origin::Direct,
        token: None,
        preview,
        ..evaluated.context.clone()
    };
    Ok(match measured(pipeline, own).await? {
        Ok(own) => Needs::of(&own).allow(evaluated),
        Err(stopped) => Err(stopped.error),
    })
}

/// Returns the changed call, for the person who made the other one.
fn changed(
    by: &Caller,
    asker: Caller,
    row: &ApprovalRow,
    call: &CallRow,
    arguments: Map<String, Value>,
) -> CallContext {
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
        provenance: row.card.strangers.clone(),
        token: call.token,
        created_at,
        origin: Origin::Change { author },
        ..CallContext::new(asker, request)
    }
}

/// Approves the changed call for its author, if that person may approve it alone and has seen all of it.
async fn approve(
    pipeline: &Arc<Pipeline>,
    by: &Caller,
    evaluated: &EvaluatedCall,
    view: CallView,
    reason: String,
) -> Result<CallView, AnswerError> {
    // If a preview must be shown first, the author has not seen it. If a second person must approve, the
    // author is not that person.
    let Approvers { not_requester, second_if_any, .. } = evaluated.approvers();
    let needs_another = evaluated.preview_first() || not_requester || second_if_any;
    let Some(id) = view.approval.filter(|_| !needs_another) else { return Ok(view) };
    let asked = pipeline.store.approval(&id.to_string()).await?;
    // The author did not see the risks that only the device's disk shows.
    if asked.call != evaluated.context.id
        || asked.card.raises.iter().any(|raise| !evaluated.raises().contains(raise))
    {
        return Ok(view);
    }
    match vote(pipeline, by, &asked, true, reason, ApprovalScope::Once).await {
        Ok(decided) if decided.state == ApprovalState::Approved => {
            let run = approved::run_approved(pipeline, &decided, None).await;
            run.map_err(AnswerError::unstored)?;
            Ok(pipeline.store.call(&view.call.to_string()).await.map(CallView::from)?)
        }
        Err(AnswerError::Vote(DecideError::Store(error))) => Err(AnswerError::unstored(error)),
        // The call needs more than this person may approve, and waits for that.
        Ok(_) | Err(_) => Ok(view),
    }
}
