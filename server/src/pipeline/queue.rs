//! Calls that wait for a device that is away. They stand in the record, survive a restart, and are
//! judged anew when the device is back: by what holds then, for the person as they are let in then.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::evaluate::Decision;
use orion_domain::{CallId, CallRequest, CallState, DeviceId, ErrorCode, ToolError};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::audit::{self, Incoming};
use super::authorize::Judged;
use super::confirm::run::run_approved;
use super::route::Way;
use super::{Reply, count, renew, route, validate};
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::Session;
use crate::store::{CallRow, Label, StoreError, Strangers};

/// How many calls that waited are sent to one device at a time. The rest of its places stay free for
/// calls of this moment.
const AT_ONCE: usize = 8;
/// How long until what could not be sent is tried again.
const RETRY: Duration = Duration::from_secs(10);

/// Puts a call on the record as waiting for its device.
///
/// # Errors
/// The record cannot be kept.
pub(super) async fn wait(backend: &Arc<Backend>, judged: &Judged) -> Result<Reply, StoreError> {
    let device = judged.target.device.id;
    let most = backend.config.calls.queued_per_device;
    if backend.store.count_queued(device).await? >= i64::from(most) {
        let message = format!(
            "{} is not connected, and {most} calls wait for it already, which is as many as may. `orion calls list --device {} --open` shows them.",
            judged.target.device.name, judged.target.device.name
        );
        let error = ToolError::new(ErrorCode::ResourceExhausted, message);
        return audit::deny_judged(backend, judged, error).await;
    }
    let row = audit::row(backend, judged, CallState::Queued);
    let reply = Reply::of_new(&row);
    backend.store.open_call(row).await?;
    judged.release();
    Ok(waiting(backend, device, reply))
}

/// Lets a call that has a person's yes wait for its device, which is away; `None` where it may not.
///
/// # Errors
/// The record cannot be kept.
pub(super) async fn wait_approved(
    backend: &Arc<Backend>,
    row: &CallRow,
) -> Result<Option<Reply>, StoreError> {
    let Some((device, _)) = row.device else { return Ok(None) };
    if row.queued_until.is_none_or(|until| until <= now_ms()) {
        return Ok(None);
    }
    let waits = row.state == CallState::Queued || {
        let most = i64::from(backend.config.calls.queued_per_device);
        backend.store.count_queued(device).await? < most
            && backend.store.advance_call(row.id, CallState::Queued, now_ms()).await?
    };
    Ok(waits.then(|| waiting(backend, device, Reply::from(row.clone()))))
}

/// What the caller of a call that waits is told.
fn waiting(backend: &Backend, device: DeviceId, reply: Reply) -> Reply {
    tracing::info!(call = %reply.call, tool = %reply.tool, "a call waits for its device");
    backend.bus.publish(Change::CallMoved(reply.call));
    // It may have come back while the call was recorded.
    if let Some(session) = backend.fleet.session(device) {
        session.wake();
    }
    told(reply)
}

/// A call that waits for its device, with what is said of it.
pub(super) fn told(reply: Reply) -> Reply {
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
    Reply { state: CallState::Queued, result: told.result, approval: None, ..reply }
}

/// Sends what waits for this device, oldest first, for as long as the session lives.
pub(super) async fn serve(backend: &Arc<Backend>, device: DeviceId, session: &Session) {
    let at_once = Arc::new(Semaphore::new(AT_ONCE));
    loop {
        let left = match deliver(backend, device, session, &at_once).await {
            Ok(sent) => sent > 0,
            Err(error) => {
                tracing::error!(%device, %error, "calls that wait for a device could not be read");
                true
            }
        };
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
    let Some(way) = Way::in_turn(backend, device).await else { return Ok(()) };
    let row = backend.store.call(&call.to_string()).await?;
    if row.state != CallState::Queued {
        return Ok(());
    }
    if row.queued_until.unwrap_or(row.deadline_at) <= now_ms() {
        return end_overdue(backend, row).await;
    }
    if let Some(approval) = row.approval {
        let approval = backend.store.approval(&approval.to_string()).await?;
        return run_approved(backend, &approval, Vec::new(), Some(way)).await.map(drop);
    }
    let reply = Reply::from(row.clone());
    match judge(backend, row).await? {
        Ok(judged) => match judged.permit(None) {
            Ok(permit) => route::resume(backend, &judged, permit, reply, None, way).await,
            Err(error) => audit::close(backend, reply, *error).await,
        },
        Err(error) => audit::close(backend, reply, error).await,
    }
    .map(drop)
}

/// The call as it is judged by now; inside, why it does not run any more.
async fn judge(
    backend: &Arc<Backend>,
    row: CallRow,
) -> Result<Result<Judged, ToolError>, StoreError> {
    let Ok(Value::Object(arguments)) = serde_json::from_slice(&row.arguments) else {
        return Err(StoreError::Corrupt);
    };
    let caller = match renew::person(backend, &row.caller).await? {
        // A role that was raised meanwhile was not the one that asked.
        Ok(caller) => orion_domain::Caller { role: caller.role.min(row.caller.role), ..caller },
        Err(error) => return Ok(Err(error)),
    };
    let incoming = Incoming {
        id: row.id,
        caller,
        created_at: row.created_at,
        strangers: strangers(&row),
        plan: None,
        background: false,
        is_own: false,
        request: CallRequest {
            tool: row.tool.clone(),
            device: row.device.as_ref().map(|(id, _)| id.to_string()),
            arguments: arguments.clone(),
            dry_run: row.dry_run,
            timeout_ms: u64::try_from(row.deadline_at - row.created_at).ok(),
            recovered: row.recovered,
            ..CallRequest::default()
        },
    };
    let found = validate::target(backend, &incoming.request).and_then(|target| {
        let parsed = validate::arguments(&target, arguments)?;
        Ok((target, parsed))
    });
    let judged = match found {
        Ok((target, parsed)) => count::judge(backend, incoming, target, parsed).await?,
        Err(error) => return Ok(Err(error)),
    };
    Ok(match judged.decision() {
        Decision::Allow => Ok(judged),
        Decision::Deny => Err(judged.refusal()),
        Decision::Ask | Decision::DryRunFirst => Err(needs_a_person()),
    })
}

/// What is said of a call that could run when it was made and wants a person by now.
pub(super) fn needs_a_person() -> ToolError {
    ToolError::new(
        ErrorCode::ApprovalExpired,
        "By now this call needs a person's yes, which it did not when it was made. It was not run: make it again to ask.",
    )
}

/// What strangers had to do with a call, as far as its row tells.
fn strangers(row: &CallRow) -> Strangers {
    let label = Label {
        call: row.id,
        tool: row.tool.clone(),
        device: row.device.as_ref().map(|(_, name)| name.to_string()).unwrap_or_default(),
        place: String::new(),
    };
    let content = if row.tainted { vec![label] } else { Vec::new() };
    Strangers { content, occurs: Vec::new(), quoted: row.quoted }
}

/// Ends the calls that have waited for their device for as long as they may, and those whose yes has
/// run out meanwhile. Gives how many were looked at; there may be more.
///
/// # Errors
/// The record cannot be read or kept.
pub async fn expire(backend: &Backend) -> Result<usize, StoreError> {
    let overdue = backend.store.overdue_calls(now_ms()).await?;
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
    if backend.store.close_unsent_call(audit::closing(&Reply::from(row), error)).await? {
        backend.bus.publish(Change::CallClosed(id));
    }
    Ok(())
}
