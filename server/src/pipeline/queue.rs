//! Calls that wait for a device that is not connected. They are stored, survive a restart, and are
//! evaluated again when the device is back: under the policy and with the caller's permissions of that
//! moment.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{CallId, CallState, DeviceId, ErrorCode, Hint, ToolError};
use tokio::sync::Semaphore;

use super::call::{CallContext, Origin};
use super::confirm::run_approved;
use super::route::DispatchSlot;
use super::view::CallView;
use super::{Pipeline, audit};
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::DeviceLink;
use crate::store::{CallRow, QueueError, StoreError};

/// The most queued calls that are sent to one device at a time. The other slots stay free for new calls.
const MAX_CONCURRENT: usize = 8;
/// How long until an unsent call is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Returns whether a call may wait for its device, which is not connected.
pub(super) fn may_queue(pipeline: &Pipeline, context: &CallContext) -> bool {
    let is_step = matches!(context.origin, Origin::PlanStep { .. });
    // The steps that follow would have to wait as well, and a preview is for this moment.
    !is_step && !context.is_preview() && pipeline.config.queue_time(&context.request).is_some()
}

/// Returns whether the backend made this error because the device is not connected.
pub(super) fn is_away(pipeline: &Pipeline, device: DeviceId, error: &ToolError) -> bool {
    error.code == ErrorCode::DeviceOffline && !pipeline.fleet.is_online(device)
}

/// Returns the error for a call that would wait when the limit of waiting calls is reached.
pub(super) fn no_room(pipeline: &Pipeline, view: &CallView, full: QueueError) -> ToolError {
    let device = view.device.as_ref().map(ToString::to_string).unwrap_or_default();
    let limits = pipeline.config.queue_limits();
    let message = if full == QueueError::PersonFull {
        format!(
            "{device} is not connected, and {} calls of {} wait for devices already, which is as many as one person may have.",
            limits.per_person, view.caller.user
        )
    } else {
        format!(
            "{device} is not connected, and {} calls wait for it already, which is as many as may.",
            limits.per_device
        )
    };
    ToolError::new(ErrorCode::ResourceExhausted, message)
        .hint(Hint::run("cancel some calls, or try again later", "orion calls list --open"))
}

/// Publishes a queued call and returns its view for the caller.
pub(super) fn waiting(pipeline: &Pipeline, device: DeviceId, view: CallView) -> CallView {
    tracing::info!(call = %view.call, tool = %view.tool, "a call waits for its device");
    pipeline.bus.publish(Change::CallMoved(view.call));
    // The device may have connected while the call was stored.
    if let Some(link) = pipeline.fleet.link(device) {
        link.wake();
    }
    describe(view)
}

/// Returns the view of a queued call, with the error that explains the wait.
pub(super) fn describe(view: CallView) -> CallView {
    let name = view.device.as_ref().map(ToString::to_string).unwrap_or_default();
    let call = view.call;
    let error = ToolError::new(
        ErrorCode::DeviceOffline,
        format!("{name} is not connected. The call waits for it and runs when it is connected."),
    )
    .hint(Hint::run("stop the call", format!("orion calls cancel {call}")))
    .with("queued_until", view.queued_until);
    let closing = view.closing(error);
    CallView { state: CallState::Queued, result: closing.result, approval: None, ..view }
}

/// Sends the queued calls of this device, oldest first, until the link ends. `any_waits` is false if no
/// call waits at the start.
pub(super) async fn serve(
    pipeline: &Arc<Pipeline>,
    device: DeviceId,
    link: &DeviceLink,
    any_waits: bool,
) {
    let at_once = Arc::new(Semaphore::new(MAX_CONCURRENT));
    let mut may_wait = any_waits;
    loop {
        let left = may_wait
            && match Box::pin(deliver(pipeline, device, link, &at_once)).await {
                Ok(sent) => sent > 0,
                Err(error) => {
                    tracing::error!(%device, %error, "calls that wait for a device could not be read");
                    true
                }
            };
        may_wait = true;
        // Calls that could not be sent are tried again.
        tokio::select! {
            () = link.woken() => {}
            () = tokio::time::sleep(RETRY_INTERVAL), if left => {}
            () = link.ended() => return,
            () = pipeline.tasks.shutdown.cancelled() => return,
        }
    }
}

/// Starts sending the queued calls, and returns how many there were.
async fn deliver(
    pipeline: &Arc<Pipeline>,
    device: DeviceId,
    link: &DeviceLink,
    at_once: &Arc<Semaphore>,
) -> Result<usize, StoreError> {
    let (mut after, mut found) = (None, 0);
    loop {
        let page = pipeline.store.queued_calls(device, after).await?;
        let Some(last) = page.last() else { return Ok(found) };
        after = Some(*last);
        found += page.len();
        for call in page {
            let place = tokio::select! {
                // No call starts while the backend stops.
                biased;
                () = link.ended() => return Ok(found),
                () = pipeline.tasks.shutdown.cancelled() => return Ok(found),
                place = Arc::clone(at_once).acquire_owned() => place.map_err(|_| StoreError::Unavailable)?,
            };
            let shared = Arc::clone(pipeline);
            pipeline.tasks.calls.spawn(async move {
                let _place = place;
                if let Err(error) = send(&shared, device, call).await {
                    tracing::error!(%call, %error, "a call that waited could not be sent");
                }
            });
        }
    }
}

/// Sends one queued call, if it may still run. The slot is acquired before the evaluation, so that an
/// evaluated call is sent at once and no approval is consumed in vain.
async fn send(pipeline: &Arc<Pipeline>, device: DeviceId, call: CallId) -> Result<(), StoreError> {
    let Some(_delivery) = pipeline.fleet.delivery(call) else { return Ok(()) };
    let user = pipeline.store.call(&call.to_string()).await?.caller.user;
    let Some(slot) = DispatchSlot::wait_for(pipeline, device, &user).await else { return Ok(()) };
    let row = pipeline.store.call(&call.to_string()).await?;
    if row.state != CallState::Queued {
        return Ok(());
    }
    if row.queued_until.unwrap_or(row.deadline_at) <= now_ms() {
        return end_overdue(pipeline, row).await;
    }
    // A sent call counts among the person's calls in flight. If those are too many, it keeps waiting.
    let most = pipeline.config.calls.in_flight_per_person;
    let Ok(_place) = pipeline.limits.acquire_slot(&row.caller.user, most) else { return Ok(()) };
    if let Some(approval) = row.approval {
        let approval = pipeline.store.approval(&approval.to_string()).await?;
        return run_approved(pipeline, &approval, Some(slot)).await.map(drop);
    }
    pipeline.resume(CallContext::stored(row, None)?, Some(slot)).await.map(drop)
}

/// Returns the error for a call that needed no approval when it was made, and needs one now.
pub(super) fn needs_a_person() -> ToolError {
    ToolError::new(ErrorCode::ApprovalExpired, "This call needs approval now. It did not run.")
        .hint("run it again to request approval")
}

/// Ends the calls that have waited for their device too long, and those whose approval has expired. Returns
/// how many were read; there may be more.
///
/// # Errors
/// The database cannot be read or written.
pub async fn expire(pipeline: &Pipeline, now_ms: i64) -> Result<usize, StoreError> {
    let overdue = pipeline.store.overdue_calls(now_ms).await?;
    let found = overdue.len();
    for row in overdue {
        // A call that is being sent checks its own deadline.
        if let Some(_delivery) = pipeline.fleet.delivery(row.id) {
            end_overdue(pipeline, row).await?;
        }
    }
    Ok(found)
}

async fn end_overdue(pipeline: &Pipeline, row: CallRow) -> Result<(), StoreError> {
    let error = if row.queued_until.unwrap_or(row.deadline_at) <= now_ms() {
        let name = row.device.as_ref().map(|(_, name)| name.to_string()).unwrap_or_default();
        let message =
            format!("{name} was not connected before the queue time ended. The call did not run.");
        ToolError::new(ErrorCode::Timeout, message)
    } else {
        ToolError::new(
            ErrorCode::ApprovalExpired,
            "The approval expired before the device was connected. The call did not run.",
        )
        .hint("run it again to request approval")
    };
    audit::close_unsent(pipeline, &CallView::from(row), error).await.map(drop)
}
