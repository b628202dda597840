//! Runs an approved call, if it is still the call that people saw, and expires approval requests that
//! nobody answered.

mod expire;
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
    let over = |why: &str| {
        let error = ToolError::new(ErrorCode::ApprovalExpired, why);
        Err(Box::new(error.hint("run it again to request approval")))
    };
    let raises = &approval.card.raises;
    let binding = CallBinding {
        raises,
        ..evaluated.binding(approval.basis(), &approval.observed, approval.expires_at)
    };
    match evaluated.decision() {
        Decision::Deny => return Err(Box::new(evaluated.refusal())),
        // Under the same policy, limits, hours and amounts need more at one time than at another.
        Decision::Ask | Decision::DryRunFirst if asks_for_more(evaluated, approval) => {
            return over(
                "The call did not run: it now needs more than was approved, such as another approver, a reason or a preview.",
            );
        }
        Decision::Allow | Decision::Ask | Decision::DryRunFirst => {}
    }
    if binding.digest() != approval.binding {
        return over(
            "The call did not run: the device's permissions or paths, or the requester's role, changed after the approval.",
        );
    }
    match binding.approved(approval.id, approval.binding, now_ms()) {
        Some(approved) => Ok(approved),
        None => over("The approval expired before the call could be sent."),
    }
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
