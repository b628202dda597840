//! Calls that wait for a device that is away. They stand in the record, survive a restart, and are
//! judged anew when the device is back: by what holds then, for the person as they are let in then.

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

/// How many calls that waited are sent to one device at a time. The rest of its places stay free for
/// calls of this moment.
const AT_ONCE: usize = 8;
/// How long until what could not be sent is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// Puts a call on the record as waiting for its device.
///
/// # Errors
/// The record cannot be kept.
pub(super) async fn wait(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
) -> Result<CallView, StoreError> {
    let row = audit::row(backend, judged, CallState::Queued);
    let (device, reply) = (judged.target.device.id, CallView::of_new(&row));
    match backend.store.open_queued_call(row, backend.config.queue_limits()).await {
        Ok(()) => {}
        Err(QueueError::Store(error)) => return Err(error),
        Err(full @ (QueueError::DeviceFull | QueueError::PersonFull)) => {
            return audit::deny_judged(backend, judged, no_room(backend, &reply, full)).await;
        }
    }
    judged.release();
    Ok(waiting(backend, device, reply))
}

/// Whether a call whose preview came to this may wait for its device, which is away.
pub(super) fn may_wait(backend: &Backend, judged: &EvaluatedCall, error: &ToolError) -> bool {
    is_away(backend, judged.target.device.id, error)
        && backend.config.queue_time(&judged.incoming.request).is_some()
}

/// Whether this is said because the device is away, and not by the device.
pub(super) fn is_away(backend: &Backend, device: DeviceId, error: &ToolError) -> bool {
    error.code == ErrorCode::DeviceOffline && !backend.fleet.is_online(device)
}

/// Lets a call wait of which its device would have to tell how much it touches. It tells that when it is
/// back, and the call is judged by it then; what wants a person whatever it touches is asked about now.
///
/// # Errors
/// The record cannot be kept.
pub(super) async fn wait_unmeasured(
    backend: &Arc<Backend>,
    judged: EvaluatedCall,
) -> Result<CallView, StoreError> {
    let judged = if judged.decision() == Decision::Deny { judged.as_if_small() } else { judged };
    match judged.decision() {
        Decision::Allow => wait(backend, &judged).await,
        Decision::Ask | Decision::DryRunFirst => confirm::ask(backend, &judged, None).await,
        Decision::Deny => audit::deny_judged(backend, &judged, judged.refusal()).await,
    }
}

/// Lets a call that has a person's yes wait for its device, which is away; `None` where it may not.
///
/// # Errors
/// The record cannot be kept.
pub(super) async fn wait_approved(
    backend: &Arc<Backend>,
    row: &CallRow,
) -> Result<Option<CallView>, StoreError> {
    let Some((device, _)) = row.device else { return Ok(None) };
    if row.queued_until.is_none_or(|until| until <= now_ms()) {
        return Ok(None);
    }
    let reply = CallView::from(row.clone());
    if row.state == CallState::Queued {
        return Ok(Some(waiting(backend, device, reply)));
    }
    match backend.store.queue_call(row.id, backend.config.queue_limits(), now_ms()).await {
        Ok(true) => Ok(Some(waiting(backend, device, reply))),
        // Somebody else moved it on, and it is theirs.
        Ok(false) => backend.store.call(&row.id.to_string()).await.map(|row| Some(row.into())),
        Err(QueueError::Store(error)) => Err(error),
        Err(full @ (QueueError::DeviceFull | QueueError::PersonFull)) => {
            let error = no_room(backend, &reply, full);
            audit::close(backend, reply, error).await.map(Some)
        }
    }
}

/// What is said of a call that would wait where as many wait as may.
fn no_room(backend: &Backend, reply: &CallView, full: QueueError) -> ToolError {
    let device = reply.device.as_ref().map(ToString::to_string).unwrap_or_default();
    let limits = backend.config.queue_limits();
    let message = if full == QueueError::PersonFull {
        format!(
            "{device} is not connected, and {} calls of {} wait for devices already, which is as many as one person may have. `orion calls list --open` shows them; cancel some or try again later.",
            limits.per_person, reply.caller.user
        )
    } else {
        format!(
            "{device} is not connected, and {} calls wait for it already, which is as many as may. `orion calls list --device {device} --open` shows them.",
            limits.per_device
        )
    };
    ToolError::new(ErrorCode::ResourceExhausted, message)
}

/// What the caller of a call that waits is told.
fn waiting(backend: &Backend, device: DeviceId, reply: CallView) -> CallView {
    tracing::info!(call = %reply.call, tool = %reply.tool, "a call waits for its device");
    backend.bus.publish(Change::CallMoved(reply.call));
    // It may have come back while the call was recorded.
    if let Some(session) = backend.fleet.session(device) {
        session.wake();
    }
    describe(reply)
}

/// A call that waits for its device, with what is said of it.
pub(super) fn describe(reply: CallView) -> CallView {
    let name = reply.device.as_ref().map(ToString::to_string).unwrap_or_default();
    let call = reply.call;
    let error = ToolError::new(
        ErrorCode::DeviceOffline,
        format!(
            "{name} is not connected. The call waits for it and runs when it is back; `orion calls cancel {call}` stops it."
        ),
    )
    .with("queued_until", reply.queued_until);
    let told = audit::closing(&reply, error);
    CallView { state: CallState::Queued, result: told.result, approval: None, ..reply }
}

/// Sends what waits for this device, oldest first, for as long as the session lives.
/// Nothing waits at first where `any_waits` says so.
pub(super) async fn serve(
    backend: &Arc<Backend>,
    device: DeviceId,
    session: &Session,
    any_waits: bool,
) {
    let at_once = Arc::new(Semaphore::new(AT_ONCE));
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
        // What could not be sent this time is looked at again.
        tokio::select! {
            () = session.woken() => {}
            () = tokio::time::sleep(RETRY), if left => {}
            () = session.ended() => return,
            () = backend.shutdown.cancelled() => return,
        }
    }
}

/// Begins to send what waits, and gives how many calls that were.
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
                // A backend that stops begins nothing.
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

/// Sends one call that waited, if it still may run. It has its place before it is judged, so that what
/// was judged is sent at once, and a yes that is spent is not spent in vain.
async fn send(backend: &Arc<Backend>, device: DeviceId, call: CallId) -> Result<(), StoreError> {
    let Some(_delivery) = backend.fleet.delivery(call) else { return Ok(()) };
    let user = backend.store.call(&call.to_string()).await?.caller.user;
    let Some(way) = DispatchSlot::wait_for(backend, device, &user).await else { return Ok(()) };
    let row = backend.store.call(&call.to_string()).await?;
    if row.state != CallState::Queued {
        return Ok(());
    }
    if row.queued_until.unwrap_or(row.deadline_at) <= now_ms() {
        return end_overdue(backend, row).await;
    }
    // What is sent counts among its person's calls under way, and waits on where those are too many.
    let most = backend.config.calls.in_flight_per_person;
    let Ok(_place) = backend.load.acquire_slot(&row.caller.user, most) else { return Ok(()) };
    if let Some(approval) = row.approval {
        let approval = backend.store.approval(&approval.to_string()).await?;
        return run_approved(backend, &approval, Some(way)).await.map(drop);
    }
    let judged = reauthorize::from_row(backend, &row, strangers(&row), Vec::new()).await?;
    let reply = CallView::from(row);
    let judged = match judged {
        Ok(judged) => judged,
        // It went away again while it was asked how much the call touches.
        Err(error) if is_away(backend, device, &error) => return Ok(()),
        Err(error) => return audit::close(backend, reply, error).await.map(drop),
    };
    match judged.decision() {
        Decision::Allow => match judged.permit(None) {
            Ok(permit) => {
                let sent = route::resume(backend, &judged, permit, reply, None, way);
                raise::attempt(backend, &judged, sent).await
            }
            Err(error) => audit::close(backend, reply, *error).await,
        },
        // Now its device can show what it would do. Meanwhile the place is another call's.
        Decision::Ask | Decision::DryRunFirst => {
            drop(way);
            confirm::ask_waiting(backend, &judged, reply).await
        }
        Decision::Deny => audit::close(backend, reply, judged.refusal()).await,
    }
    .map(drop)
}

/// What is said of a call that could run when it was made and wants a person by now.
pub(super) fn needs_a_person() -> ToolError {
    ToolError::new(
        ErrorCode::ApprovalExpired,
        "By now this call needs a person's yes, which it did not when it was made. It was not run: make it again to ask.",
    )
}

/// What strangers had to do with a call, as far as its row tells.
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

/// Ends the calls that have waited for their device for as long as they may, and those whose yes has
/// run out meanwhile. Gives how many were looked at; there may be more.
///
/// # Errors
/// The record cannot be read or kept.
pub async fn expire(backend: &Backend, now_ms: i64) -> Result<usize, StoreError> {
    let overdue = backend.store.overdue_calls(now_ms).await?;
    let found = overdue.len();
    for row in overdue {
        // One that is being sent looks at its time itself.
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
        let message = format!(
            "{name} did not come back in the time for which the call might wait. It was not run."
        );
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
