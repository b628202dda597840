//! Runs an approved call, if it is still the call that people saw, and expires approval requests that
//! nobody answered.

mod expire;
mod outdated;
mod resume;

use std::sync::Arc;

use orion_domain::evaluate::Decision;
use orion_domain::{ApprovalId, Approved, CallBinding, ErrorCode, ToolError};

use crate::clock::now_ms;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::CallContext;
use crate::pipeline::route::DispatchSlot;
use crate::pipeline::view::CallView;
use crate::pipeline::{Pipeline, audit};
use crate::store::{ApprovalRow, StoreError};

pub(super) use expire::close_asked;
pub use expire::expire;
pub use outdated::{SeenRequests, end_outdated};
pub(super) use outdated::{end_if_outdated, quarantined};
pub use resume::resume_approved;

/// Runs an approved call, if it is still the call that the approvers saw. If the database fails before the
/// call is sent, the call ends instead of waiting for a restart.
///
/// # Errors
/// The database cannot be written.
pub(in crate::pipeline) async fn run_approved(
    pipeline: &Arc<Pipeline>,
    approval: &ApprovalRow,
    slot: Option<DispatchSlot>,
) -> Result<CallView, StoreError> {
    let read = async {
        let row = pipeline.store.call(approval.call).await?;
        CallContext::stored(row, Some(approval.clone()))
    };
    match read.await {
        Ok(context) => pipeline.resume(context, slot).await,
        Err(error) => {
            if let Ok(row) = pipeline.store.call(approval.call).await {
                audit::break_off(pipeline, &CallView::from(row)).await;
            }
            Err(error)
        }
    }
}

/// Returns the approval if it is still for the call that would run, and enough for it.
///
/// # Errors
/// Why the call does not run.
pub(in crate::pipeline) fn still_holds(
    evaluated: &EvaluatedCall,
    approval: &ApprovalRow,
) -> Result<Approved, Box<ToolError>> {
    if evaluated.decision() == Decision::Deny {
        return Err(Box::new(evaluated.refusal()));
    }
    // Under the same policy, limits, hours and amounts need more at one time than at another.
    let is_asked = matches!(evaluated.decision(), Decision::Ask | Decision::DryRunFirst);
    if is_asked && asks_for_more(evaluated, approval) {
        return Err(over(
            "The call did not run: it now needs more than was approved, such as another approver, a reason or a preview.",
        ));
    }
    if let Some(error) = changed(evaluated, approval) {
        return Err(error);
    }
    let approved = binding(evaluated, approval).approved(approval.id, approval.binding, now_ms());
    approved.ok_or_else(|| over("The approval expired before the call could be sent."))
}

/// Returns why a call is another one than its approval request showed. None if it is the same call, whatever it
/// needs at this moment.
fn changed(evaluated: &EvaluatedCall, approval: &ApprovalRow) -> Option<Box<ToolError>> {
    if binding(evaluated, approval).digest() == approval.binding {
        return None;
    }
    if evaluated.decision() == Decision::Deny {
        return Some(Box::new(evaluated.refusal()));
    }
    Some(over(
        "The call did not run: the permissions, paths or rules of the device, or the requester's role, changed since it was made.",
    ))
}

/// Returns what the approval would have to be for.
fn binding<'a>(evaluated: &'a EvaluatedCall, approval: &'a ApprovalRow) -> CallBinding<'a> {
    CallBinding {
        raises: &approval.card.raises,
        ..evaluated.binding(approval.basis(), &approval.observed, approval.expires_at)
    }
}

/// Returns the error of a call whose approval request or approval is over.
fn over(why: &str) -> Box<ToolError> {
    let error = ToolError::new(ErrorCode::ApprovalExpired, why);
    Box::new(error.hint("run it again to request approval"))
}

/// Returns whether the call needs more approvals, other approvers or a preview that was not requested
/// before.
fn asks_for_more(evaluated: &EvaluatedCall, approval: &ApprovalRow) -> bool {
    approval.approvers.and(evaluated.approvers()) != approval.approvers
        || (evaluated.preview_first() && approval.preview.is_none())
        || (approval.standing.is_some() && !evaluated.may_stand())
        || evaluated.raises().iter().any(|raise| !approval.card.raises.contains(raise))
}

/// Handles an approval that could not be consumed: another run consumed it, the call has ended, or the
/// approval has expired.
///
/// # Errors
/// The database cannot be written.
pub(in crate::pipeline) async fn not_spent(
    pipeline: &Pipeline,
    approval: ApprovalId,
    view: CallView,
) -> Result<CallView, StoreError> {
    if pipeline.store.approval(approval).await?.consumed_at.is_some() {
        return pipeline.store.call(view.call).await.map(CallView::from);
    }
    let error = ToolError::new(
        ErrorCode::ApprovalExpired,
        "The approval expired before the call could be sent.",
    )
    .hint("run it again to request approval");
    audit::close(pipeline, view, error).await
}
