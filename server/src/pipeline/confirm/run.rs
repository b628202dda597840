//! Runs an approved call, if it is still the call that people saw, and expires approval requests that
//! nobody answered.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::evaluate::Decision;
use orion_domain::{ApprovalId, Approved, CallBinding, DeviceId, ErrorCode, ToolError, UserName};

use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::ApprovalProof;
use crate::pipeline::audit;
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::route::DispatchSlot;
use crate::pipeline::{CallView, queue, reauthorize, route};
use crate::store::{ApprovalRow, CallRow, ClosedBy, StoreError};

/// How long an approved call waits for its device after a restart of the backend.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Runs an approved call, if it is still the call that the approvers saw. If the database fails before the
/// call is sent, the call ends instead of waiting for a restart.
///
/// # Errors
/// The database cannot be written.
pub(in crate::pipeline) async fn run_approved(
    backend: &Arc<Backend>,
    approval: &ApprovalRow,
    slot: Option<DispatchSlot>,
) -> Result<CallView, StoreError> {
    let done = try_approved(backend, approval, slot).await;
    if done.is_err()
        && let Ok(row) = backend.store.call(&approval.call.to_string()).await
    {
        break_off(backend, &CallView::from(row)).await;
    }
    done
}

/// Ends a call that was not sent because the database failed, if the database allows that.
pub(super) async fn break_off(backend: &Backend, view: &CallView) {
    let error = ToolError::new(
        ErrorCode::Internal,
        "The database could not be written, so the call was not sent. Run it again.",
    );
    let close = audit::closing(view, error);
    match backend.store.close_call(close, ClosedBy::BackendUnsent).await {
        Ok(true) => backend.bus.publish(Change::CallClosed(view.call)),
        Ok(false) => {}
        Err(error) => {
            tracing::error!(call = %view.call, %error, "a call that broke off could not be ended");
        }
    }
}

async fn try_approved(
    backend: &Arc<Backend>,
    approval: &ApprovalRow,
    slot: Option<DispatchSlot>,
) -> Result<CallView, StoreError> {
    let row = backend.store.call(&approval.call.to_string()).await?;
    // The approval is consumed when the call is sent, and not before its device is connected and has a free
    // slot.
    let slot = match slot {
        Some(slot) => slot,
        None => match DispatchSlot::wait_for(backend, approval.device.0, &row.caller.user).await {
            Some(slot) => slot,
            None => return away(backend, approval, row).await,
        },
    };
    let observed = approval.observed.clone();
    let strangers = approval.card.strangers.clone();
    let evaluated = match reauthorize::from_row(backend, &row, strangers, observed).await? {
        Ok(evaluated) => evaluated,
        Err(error) if queue::is_away(backend, approval.device.0, &error) => {
            return away(backend, approval, row).await;
        }
        Err(error) => return audit::close(backend, CallView::from(row), error).await,
    };
    let view = CallView::from(row);
    let approved = match still_holds(&evaluated, approval) {
        Ok(approved) => approved,
        Err(error) => return audit::close(backend, view, *error).await,
    };
    let permit = match evaluated.permit(Some(approved)) {
        Ok(permit) => permit,
        Err(error) => return audit::close(backend, view, *error).await,
    };
    let proof = ApprovalProof {
        id: approval.id,
        binding: approval.binding,
        approved_by: approval.decided_by.as_ref().map(UserName::to_string).unwrap_or_default(),
        expires_at: approval.expires_at,
        raises: approval.card.raises.clone(),
        basis: approval.basis(),
    };
    route::resume(backend, &evaluated, permit, view, Some(proof), slot).await
}

/// Handles an approved call whose device is not connected: the call waits if it may, or ends.
async fn away(
    backend: &Arc<Backend>,
    approval: &ApprovalRow,
    row: CallRow,
) -> Result<CallView, StoreError> {
    if approval.plan.is_none()
        && let Some(view) = queue::wait_approved(backend, &row).await?
    {
        return Ok(view);
    }
    let message = format!("{} is not connected.", approval.device.1);
    let error = ToolError::new(ErrorCode::DeviceOffline, message);
    audit::close(backend, CallView::from(row), error).await
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
        let message = format!("{why} Make the call again to be asked again.");
        Err(Box::new(ToolError::new(ErrorCode::ApprovalExpired, message)))
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
            "What was approved is not what would run: the device's permissions or places, or the role of whoever asked, have changed since.",
        );
    }
    match binding.approved(approval.id, approval.binding, now_ms()) {
        Some(approved) => Ok(approved),
        None => over("The time of the approval was over before the call could be sent."),
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
    backend: &Backend,
    approval: ApprovalId,
    view: CallView,
) -> Result<CallView, StoreError> {
    if backend.store.approval(&approval.to_string()).await?.consumed_at.is_some() {
        return backend.store.call(&view.call.to_string()).await.map(CallView::from);
    }
    let error = ToolError::new(
        ErrorCode::ApprovalExpired,
        "The time of the approval was over before the call could be sent. Make the call again to be asked again.",
    );
    audit::close(backend, view, error).await
}

/// Ends the call of an approval request.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn close_asked(
    backend: &Backend,
    approval: &ApprovalRow,
    error: ToolError,
) -> Result<(), StoreError> {
    let row = backend.store.call(&approval.call.to_string()).await?;
    audit::close(backend, CallView::from(row), error).await.map(drop)
}

/// Expires the approval requests whose time is over, and ends their calls.
///
/// # Errors
/// The database cannot be written.
pub async fn expire(backend: &Backend, now_ms: i64) -> Result<usize, StoreError> {
    let expired = backend.store.expire_approvals(now_ms).await?;
    let count = expired.len();
    for approval in expired {
        backend.bus.publish(Change::Approval(approval.id, approval.call));
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "The approval request expired. The call did not run. Run it again to request approval; `orion approvals watch` shows requests as they come.",
        );
        // A call that cannot be ended must not block the others; a restart ends it.
        if let Err(error) = close_asked(backend, &approval, error).await {
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
pub async fn resume_approved(backend: &Arc<Backend>) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = backend.store.approved_and_unused(after).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.id);
        for approval in page {
            let task = Arc::clone(backend);
            backend.calls.spawn(async move {
                if let Err(error) = resume(&task, &approval).await {
                    tracing::error!(call = %approval.call, %error, "an approved call could not be taken up again");
                }
            });
        }
    }
}

async fn resume(backend: &Arc<Backend>, approval: &ApprovalRow) -> Result<(), StoreError> {
    wait_for(backend, approval.device.0).await;
    if backend.shutdown.is_cancelled() {
        return Ok(());
    }
    if approval.expires_at <= now_ms() {
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "The backend was away until the approval's time was over, so the call was not made. Make it again to be asked again.",
        );
        return close_asked(backend, approval, error).await;
    }
    run_approved(backend, approval, None).await.map(drop)
}

/// Waits until the device is connected, at most [`RECONNECT_TIMEOUT`].
async fn wait_for(backend: &Backend, device: DeviceId) {
    let mut changes = backend.bus.watch_device(device);
    let deadline = tokio::time::Instant::now() + RECONNECT_TIMEOUT;
    while !backend.fleet.is_online(device) {
        tokio::select! {
            () = backend.shutdown.cancelled() => return,
            () = tokio::time::sleep_until(deadline) => return,
            () = changes.changed() => {}
        }
    }
}
