//! Runs an approved call, if it is still the call that people saw, and expires approval requests that
//! nobody answered.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::evaluate::Decision;
use orion_domain::{ApprovalId, Approved, CallBinding, DeviceId, ErrorCode, Hint, ToolError};

use crate::bus::Change;
use crate::clock::now_ms;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::CallContext;
use crate::pipeline::route::DispatchSlot;
use crate::pipeline::view::CallView;
use crate::pipeline::{Pipeline, audit};
use crate::store::{ApprovalRow, StoreError};

/// How long an approved call waits for its device after a restart of the backend.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(30);

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
    let row = pipeline.store.call(&approval.call.to_string()).await?;
    pipeline.resume(CallContext::stored(row, Some(approval.clone()))?, slot).await
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
            return over("This call needs more than the approval that it has.");
        }
        Decision::Allow | Decision::Ask | Decision::DryRunFirst => {}
    }
    if binding.digest() != approval.binding {
        return over(
            "What was approved is not what would run: the device's permissions or places, or the requester's role, have changed since.",
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
    if pipeline.store.approval(&approval.to_string()).await?.consumed_at.is_some() {
        return pipeline.store.call(&view.call.to_string()).await.map(CallView::from);
    }
    let error = ToolError::new(
        ErrorCode::ApprovalExpired,
        "The approval expired before the call could be sent.",
    )
    .hint("run it again to request approval");
    audit::close(pipeline, view, error).await
}

/// Ends the call of an approval request.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn close_asked(
    pipeline: &Pipeline,
    approval: &ApprovalRow,
    error: ToolError,
) -> Result<(), StoreError> {
    let row = pipeline.store.call(&approval.call.to_string()).await?;
    audit::close(pipeline, CallView::from(row), error).await.map(drop)
}

/// Expires the approval requests whose time is over, and ends their calls.
///
/// # Errors
/// The database cannot be written.
pub async fn expire(pipeline: &Pipeline, now_ms: i64) -> Result<usize, StoreError> {
    let expired = pipeline.store.expire_approvals(now_ms).await?;
    let count = expired.len();
    for approval in expired {
        pipeline.bus.publish(Change::Approval(approval.id, approval.call));
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "The approval request expired. The call did not run.",
        )
        .hint("run it again to request approval")
        .hint(Hint::run("watch requests as they arrive", "orion approvals watch"));
        // A call that cannot be ended must not block the others; a restart ends it.
        if let Err(error) = close_asked(pipeline, &approval, error).await {
            tracing::error!(call = %approval.call, %error, "a call whose question ran out could not be ended");
        }
    }
    Ok(count)
}

/// Resumes the calls that were approved and not started when the backend stopped, each when its device is
/// back. An approval is not used after it expired.
///
/// # Errors
/// The database cannot be read.
pub async fn resume_approved(pipeline: &Arc<Pipeline>) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = pipeline.store.approved_and_unused(after).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.id);
        for approval in page {
            let task = Arc::clone(pipeline);
            pipeline.tasks.calls.spawn(async move {
                if let Err(error) = resume(&task, &approval).await {
                    tracing::error!(call = %approval.call, %error, "an approved call could not be taken up again");
                }
            });
        }
    }
}

async fn resume(pipeline: &Arc<Pipeline>, approval: &ApprovalRow) -> Result<(), StoreError> {
    wait_for(pipeline, approval.device.0).await;
    if pipeline.tasks.shutdown.is_cancelled() {
        return Ok(());
    }
    if approval.expires_at <= now_ms() {
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "The approval expired while the backend was stopped. The call did not run.",
        )
        .hint("run it again to request approval");
        return close_asked(pipeline, approval, error).await;
    }
    run_approved(pipeline, approval, None).await.map(drop)
}

/// Waits until the device is connected, at most [`RECONNECT_TIMEOUT`].
async fn wait_for(pipeline: &Pipeline, device: DeviceId) {
    let mut changes = pipeline.bus.watch_device(device);
    let deadline = tokio::time::Instant::now() + RECONNECT_TIMEOUT;
    while !pipeline.fleet.is_online(device) {
        tokio::select! {
            () = pipeline.tasks.shutdown.cancelled() => return,
            () = tokio::time::sleep_until(deadline) => return,
            () = changes.changed() => {}
        }
    }
}
