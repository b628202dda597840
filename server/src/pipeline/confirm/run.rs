//! From a yes to the run, if it is still the call that people saw; and the ends of questions that
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

/// How long an approved call waits for its device after a restart of this backend.
const RETURN: Duration = Duration::from_secs(30);

/// Runs a call that enough people approved, if it is still the call that they saw. Where the record fails before the call is sent, the call ends
/// rather than wait for a restart.
///
/// # Errors
/// The record cannot be kept.
pub(in crate::pipeline) async fn run_approved(
    backend: &Arc<Backend>,
    approval: &ApprovalRow,
    way: Option<DispatchSlot>,
) -> Result<CallView, StoreError> {
    let done = try_approved(backend, approval, way).await;
    if done.is_err()
        && let Ok(row) = backend.store.call(&approval.call.to_string()).await
    {
        break_off(backend, &CallView::from(row)).await;
    }
    done
}

/// Ends a call that was not sent and cannot go on because the record failed, as far as the record
/// allows.
pub(super) async fn break_off(backend: &Backend, reply: &CallView) {
    let error = ToolError::new(
        ErrorCode::Internal,
        "The record could not be kept, so the call was not sent. Make it again.",
    );
    let close = audit::closing(reply, error);
    match backend.store.close_call(close, ClosedBy::BackendUnsent).await {
        Ok(true) => backend.bus.publish(Change::CallClosed(reply.call)),
        Ok(false) => {}
        Err(error) => {
            tracing::error!(call = %reply.call, %error, "a call that broke off could not be ended");
        }
    }
}

async fn try_approved(
    backend: &Arc<Backend>,
    approval: &ApprovalRow,
    way: Option<DispatchSlot>,
) -> Result<CallView, StoreError> {
    let row = backend.store.call(&approval.call.to_string()).await?;
    // The yes is spent when the call is sent, and not before its device is there and has room for it.
    let way = match way {
        Some(way) => way,
        None => match DispatchSlot::wait_for(backend, approval.device.0, &row.caller.user).await {
            Some(way) => way,
            None => return away(backend, approval, row).await,
        },
    };
    let observed = approval.observed.clone();
    let strangers = approval.card.strangers.clone();
    let judged = match reauthorize::from_row(backend, &row, strangers, observed).await? {
        Ok(judged) => judged,
        Err(error) if queue::is_away(backend, approval.device.0, &error) => {
            return away(backend, approval, row).await;
        }
        Err(error) => return audit::close(backend, CallView::from(row), error).await,
    };
    let reply = CallView::from(row);
    let approved = match still_holds(&judged, approval) {
        Ok(approved) => approved,
        Err(error) => return audit::close(backend, reply, *error).await,
    };
    let permit = match judged.permit(Some(approved)) {
        Ok(permit) => permit,
        Err(error) => return audit::close(backend, reply, *error).await,
    };
    let proof = ApprovalProof {
        id: approval.id,
        binding: approval.binding,
        approved_by: approval.decided_by.as_ref().map(UserName::to_string).unwrap_or_default(),
        expires_at: approval.expires_at,
        raises: approval.card.raises.clone(),
        basis: approval.basis(),
    };
    route::resume(backend, &judged, permit, reply, Some(proof), way).await
}

/// What becomes of an approved call whose device is away: it waits, where it may, or ends.
async fn away(
    backend: &Arc<Backend>,
    approval: &ApprovalRow,
    row: CallRow,
) -> Result<CallView, StoreError> {
    if approval.plan.is_none()
        && let Some(reply) = queue::wait_approved(backend, &row).await?
    {
        return Ok(reply);
    }
    let message = format!("{} is not connected.", approval.device.1);
    let error = ToolError::new(ErrorCode::DeviceOffline, message);
    audit::close(backend, CallView::from(row), error).await
}

/// The yes, where it is still to what would run, and enough for it.
pub(in crate::pipeline) fn still_holds(
    judged: &EvaluatedCall,
    approval: &ApprovalRow,
) -> Result<Approved, Box<ToolError>> {
    let over = |why: &str| {
        let message = format!("{why} Make the call again to be asked again.");
        Err(Box::new(ToolError::new(ErrorCode::ApprovalExpired, message)))
    };
    let raises = &approval.card.raises;
    let binding = CallBinding {
        raises,
        ..judged.binding(approval.basis(), &approval.observed, approval.expires_at)
    };
    match judged.decision() {
        Decision::Deny => return Err(Box::new(judged.refusal())),
        // Limits, hours and amounts ask for more at one time than at another, by the same policy.
        Decision::Ask | Decision::DryRunFirst if asks_for_more(judged, approval) => {
            return over("By now this call needs more than the yes that was given to it.");
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

/// Whether the call needs more people, other people or more to look at than were asked for.
fn asks_for_more(judged: &EvaluatedCall, approval: &ApprovalRow) -> bool {
    approval.approvers.and(judged.approvers()) != approval.approvers
        || (judged.preview_first() && approval.preview.is_none())
        || (approval.standing.is_some() && !judged.may_stand())
        || judged.raises().iter().any(|raise| !approval.card.raises.contains(raise))
}

/// A yes that could not be spent: another run of the same call spent it, the call has ended meanwhile,
/// or the time of the yes is over.
///
/// # Errors
/// The record cannot be kept.
pub(in crate::pipeline) async fn not_spent(
    backend: &Backend,
    approval: ApprovalId,
    reply: CallView,
) -> Result<CallView, StoreError> {
    if backend.store.approval(&approval.to_string()).await?.consumed_at.is_some() {
        return backend.store.call(&reply.call.to_string()).await.map(CallView::from);
    }
    let error = ToolError::new(
        ErrorCode::ApprovalExpired,
        "The time of the approval was over before the call could be sent. Make the call again to be asked again.",
    );
    audit::close(backend, reply, error).await
}

/// Ends the call that a question was about.
///
/// # Errors
/// The record cannot be kept.
pub(super) async fn close_asked(
    backend: &Backend,
    approval: &ApprovalRow,
    error: ToolError,
) -> Result<(), StoreError> {
    let row = backend.store.call(&approval.call.to_string()).await?;
    audit::close(backend, CallView::from(row), error).await.map(drop)
}

/// Ends the questions that ran out, and the calls that waited on them.
///
/// # Errors
/// The record cannot be kept.
pub async fn expire(backend: &Backend, now_ms: i64) -> Result<usize, StoreError> {
    let expired = backend.store.expire_approvals(now_ms).await?;
    let count = expired.len();
    for approval in expired {
        backend.bus.publish(Change::Approval(approval.id, approval.call));
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "Nobody answered in time. Make the call again to be asked again; `orion approvals watch` shows questions as they come.",
        );
        // One that cannot be ended must not keep the others waiting; a restart ends it.
        if let Err(error) = close_asked(backend, &approval, error).await {
            tracing::error!(call = %approval.call, %error, "a call whose question ran out could not be ended");
        }
    }
    Ok(count)
}

/// Takes up what was approved and not yet started when the backend stopped, each when its device is
/// back. A yes does not outlive the time in which it could be given.
///
/// # Errors
/// The record cannot be read.
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

/// Waits until the device is connected, for a while.
async fn wait_for(backend: &Backend, device: DeviceId) {
    let mut changes = backend.bus.watch_device(device);
    let deadline = tokio::time::Instant::now() + RETURN;
    while !backend.fleet.is_online(device) {
        tokio::select! {
            () = backend.shutdown.cancelled() => return,
            () = tokio::time::sleep_until(deadline) => return,
            () = changes.changed() => {}
        }
    }
}
