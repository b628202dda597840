//! Calls that wait for a device that is not connected. They are stored, survive a restart, and are
//! evaluated again when the device is back: under the policy and with the caller's permissions of that
//! moment.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::evaluate::Decision;
use orion_domain::{CallId, CallState, DeviceId, ErrorCode, ToolError};
use tokio::sync::Semaphore;

use super::audit;
use super::authorize::EvaluatedCall;
use super::confirm::{self, run::run_approved};
use super::route::DispatchSlot;
use super::{CallView, raise, reauthorize, route};
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::Session;
use crate::store::{CallRow, ClosedBy, Label, Provenance, QueueError, StoreError};

/// The most queued calls that are sent to one device at a time. The other slots stay free for new calls.
const MAX_CONCURRENT: usize = 8;
/// How long until an unsent call is tried again.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Stores a call as waiting for its device.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn wait(
    backend: &Arc<Backend>,
    evaluated: &EvaluatedCall,
) -> Result<CallView, StoreError> {
    let row = audit::row(backend, evaluated, CallState::Queued);
    let (device, view) = (evaluated.target.device.id, CallView::of_new(&row));
    match backend.store.open_queued_call(row, backend.config.queue_limits()).await {
        Ok(()) => {}
        Err(QueueError::Store(error)) => return Err(error),
        Err(full @ (QueueError::DeviceFull | QueueError::PersonFull)) => {
            return audit::deny_judged(backend, evaluated, no_room(backend, &view, full)).await;
        }
    }
    evaluated.release();
    Ok(waiting(backend, device, view))
}

/// Returns whether a call whose preview failed with this error may wait for its device, which is not
/// connected.
pub(super) fn may_wait(backend: &Backend, evaluated: &EvaluatedCall, error: &ToolError) -> bool {
    is_away(backend, evaluated.target.device.id, error)
        && backend.config.queue_time(&evaluated.incoming.request).is_some()
}

/// Returns whether the backend made this error because the device is not connected.
pub(super) fn is_away(backend: &Backend, device: DeviceId, error: &ToolError) -> bool {
    error.code == ErrorCode::DeviceOffline && !backend.fleet.is_online(device)
}

/// Queues a call whose quantity only its device can report. The call is evaluated with the quantity when
/// the device is back. A call that needs approval for any quantity gets its approval request now.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn wait_unmeasured(
    backend: &Arc<Backend>,
    evaluated: EvaluatedCall,
) -> Result<CallView, StoreError> {
    let evaluated =
        if evaluated.decision() == Decision::Deny { evaluated.as_if_small() } else { evaluated };
    match evaluated.decision() {
        Decision::Allow => wait(backend, &evaluated).await,
        Decision::Ask | Decision::DryRunFirst => confirm::ask(backend, &evaluated, None).await,
        Decision::Deny => audit::deny_judged(backend, &evaluated, evaluated.refusal()).await,
    }
}

/// Queues an approved call for its device, which is not connected. Returns `None` if the call may not wait.
///
/// # Errors
/// The database cannot be written.
pub(super) async fn wait_approved(
    backend: &Arc<Backend>,
    row: &CallRow,
) -> Result<Option<CallView>, StoreError> {
    let Some((device, _)) = row.device else { return Ok(None) };
    if row.queued_until.is_none_or(|until| until <= now_ms()) {
        return Ok(None);
    }
    let view = CallView::from(row.clone());
    if row.state == CallState::Queued {
        return Ok(Some(waiting(backend, device, view)));
    }
    match backend.store.queue_call(row.id, backend.config.queue_limits(), now_ms()).await {
        Ok(true) => Ok(Some(waiting(backend, device, view))),
        // Another task changed the call's state and continues with it.
        Ok(false) => backend.store.call(&row.id.to_string()).await.map(|row| Some(row.into())),
        Err(QueueError::Store(error)) => Err(error),
        Err(full @ (QueueError::DeviceFull | QueueError::PersonFull)) => {
            let error = no_room(backend, &view, full);
            audit::close(backend, view, error).await.map(Some)
        }
    }
}

/// Returns the error for a call that would wait when the limit of waiting calls is reached.
fn no_room(backend: &Backend, view: &CallView, full: QueueError) -> ToolError {
    let device = view.device.as_ref().map(ToString::to_string).unwrap_or_default();
    let limits = backend.config.queue_limits();
    let message = if full == QueueError::PersonFull {
        format!(
            "{device} is not connected, and {} calls of {} wait for devices already, which is as many as one person may have. `orion calls list --open` shows them; cancel some or try again later.",
            limits.per_person, view.caller.user
        )
    } else {
        format!(
            "{device} is not connected, and {} calls wait for it already, which is as many as may. `orion calls list --device {device} --open` shows them.",
            limits.per_device
        )
    };
    ToolError::new(ErrorCode::ResourceExhausted, message)
}

/// Publishes a queued call and returns its view for the caller.
fn waiting(backend: &Backend, device: DeviceId, view: CallView) -> CallView {
    tracing::info!(call = %view.call, tool = %view.tool, "a call waits for its device");
    backend.bus.publish(Change::CallMoved(view.call));
    // The device may have connected while the call was stored.
    if let Some(session) = backend.fleet.session(device) {
        session.wake();
    }
    describe(view)
}

/// Returns the view of a queued call, with the error that explains the wait.
pub(super) fn describe(view: CallView) -> CallView {
    let name = view.device.as_ref().map(ToString::to_string).unwrap_or_default();
    let call = view.call;
    let error = ToolError::new(
        ErrorCode::DeviceOffline,
        format!(
            "{name} is not connected. The call waits for it and runs when it is back; `orion calls cancel {call}` stops it."
        ),
    )
    .with("queued_until", view.queued_until);
    let closing = audit::closing(&view, error);
    CallView { state: CallState::Queued, result: closing.result, approval: None, ..view }
}

/// Sends the queued calls of this device, oldest first, until the session ends. `any_waits` is false if no
/// call waits at the start.
pub(super) async fn serve(
    backend: &Arc<Backend>,
    device: DeviceId,
    session: &Session,
    any_waits: bool,
) {
    let at_once = Arc::new(Semaphore::new(MAX_CONCURRENT));
    let mut may_wait = any_waits;
    loop {
        let left = may_wait
            && match Box::pin(deliver(backend, device, session, &at_once)).await {
                Ok(sent) => sent > 0,
                Err(error) => {
                    tracing::error!(%device, %error, "calls that wait for a device could not be read");
                    true
                }
            };
        may_wait = true;
        // Calls that could not be sent are tried again.
        tokio::select! {
            () = session.woken() => {}
            () = tokio::time::sleep(RETRY_INTERVAL), if left => {}
            () = session.ended() => return,
            () = backend.shutdown.cancelled() => return,
        }
    }
}

/// Starts sending the queued calls, and returns how many there were.
async fn deliver(
    backend: &Arc<Backend>,
    device: DeviceId,
    session: &Session,
    at_once: &Arc<Semaphore>,
) -> Result<usize, StoreError> {
    let (mut after, mut found) = (None, 0);
    loop {
        let page = backend.store.queued_calls(device, after).await?;
        let Some(last) = page.last() else { return Ok(found) };
        after = Some(*last);
        found += page.len();
        for call in page {
            let place = tokio::select! {
                // No call starts while the backend stops.
                biased;
                () = session.ended() => return Ok(found),
                () = backend.shutdown.cancelled() => return Ok(found),
                place = Arc::clone(at_once).acquire_owned() => place.map_err(|_| StoreError::Unavailable)?,
            };
            let shared = Arc::clone(backend);
            backend.calls.spawn(async move {
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
async fn send(backend: &Arc<Backend>, device: DeviceId, call: CallId) -> Result<(), StoreError> {
    let Some(_delivery) = backend.fleet.delivery(call) else { return Ok(()) };
    let user = backend.store.call(&call.to_string()).await?.caller.user;
    let Some(slot) = DispatchSlot::wait_for(backend, device, &user).await else { return Ok(()) };
    let row = backend.store.call(&call.to_string()).await?;
    if row.state != CallState::Queued {
        return Ok(());
    }
    if row.queued_until.unwrap_or(row.deadline_at) <= now_ms() {
        return end_overdue(backend, row).await;
    }
    // A sent call counts among the person's calls in flight. If those are too many, it keeps waiting.
    let most = backend.config.calls.in_flight_per_person;
    let Ok(_place) = backend.load.acquire_slot(&row.caller.user, most) else { return Ok(()) };
    if let Some(approval) = row.approval {
        let approval = backend.store.approval(&approval.to_string()).await?;
        return run_approved(backend, &approval, Some(slot)).await.map(drop);
    }
    let evaluated = reauthorize::from_row(backend, &row, strangers(&row), Vec::new()).await?;
    let view = CallView::from(row);
    let evaluated = match evaluated {
        Ok(evaluated) => evaluated,
        // The device disconnected again while it was asked for the quantity.
        Err(error) if is_away(backend, device, &error) => return Ok(()),
        Err(error) => return audit::close(backend, view, error).await.map(drop),
    };
    match evaluated.decision() {
        Decision::Allow => match evaluated.permit(None) {
            Ok(permit) => {
                let sent = route::resume(backend, &evaluated, permit, view, None, slot);
                raise::attempt(backend, &evaluated, sent).await
            }
            Err(error) => audit::close(backend, view, *error).await,
        },
        // The connected device can show a preview. The slot is free for another call until the approval.
        Decision::Ask | Decision::DryRunFirst => {
            drop(slot);
            confirm::ask_waiting(backend, &evaluated, view).await
        }
        Decision::Deny => audit::close(backend, view, evaluated.refusal()).await,
    }
    .map(drop)
}

/// Returns the error for a call that needed no approval when it was made, and needs one now.
pub(super) fn needs_a_person() -> ToolError {
    ToolError::new(
        ErrorCode::ApprovalExpired,
        "This call needs approval now. It did not run. Run it again to request approval.",
    )
}

/// Returns the provenance of a call, as far as its row has it.
fn strangers(row: &CallRow) -> Provenance {
    let label = Label {
        call: row.id,
        tool: row.tool.clone(),
        device: row.device.as_ref().map(|(_, name)| name.to_string()).unwrap_or_default(),
        place: String::new(),
    };
    let content = if row.tainted { vec![label] } else { Vec::new() };
    Provenance { content, occurs: Vec::new(), quoted: row.quoted }
}

/// Ends the calls that have waited for their device too long, and those whose approval has expired. Returns
/// how many were read; there may be more.
///
/// # Errors
/// The database cannot be read or written.
pub async fn expire(backend: &Backend, now_ms: i64) -> Result<usize, StoreError> {
    let overdue = backend.store.overdue_calls(now_ms).await?;
    let found = overdue.len();
    for row in overdue {
        // A call that is being sent checks its own deadline.
        if let Some(_delivery) = backend.fleet.delivery(row.id) {
            end_overdue(backend, row).await?;
        }
    }
    Ok(found)
}

async fn end_overdue(backend: &Backend, row: CallRow) -> Result<(), StoreError> {
    let id = row.id;
    let error = if row.queued_until.unwrap_or(row.deadline_at) <= now_ms() {
        let name = row.device.as_ref().map(|(_, name)| name.to_string()).unwrap_or_default();
        let message =
            format!("{name} was not connected before the queue time ended. The call did not run.");
        ToolError::new(ErrorCode::Timeout, message)
    } else {
        ToolError::new(
            ErrorCode::ApprovalExpired,
            "The time of the approval was over before the device was back. It was not run: make the call again to be asked again.",
        )
    };
    let close = audit::closing(&CallView::from(row), error);
    if backend.store.close_call(close, ClosedBy::BackendUnsent).await? {
        backend.bus.publish(Change::CallClosed(id));
    }
    Ok(())
}
