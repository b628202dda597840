//! Calls that wait for a device that is away. They stand in the record, survive a restart, and are
//! judged anew when the device is back: by what holds then, for the person as they are let in then.

use std::sync::Arc;

use orion_domain::evaluate::Decision;
use orion_domain::{CallId, CallRequest, CallState, DeviceId, ErrorCode, ToolError};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::audit::{self, Incoming};
use super::authorize::Judged;
use super::confirm::run::run_approved;
use super::{Reply, count, renew, route, validate};
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::Session;
use crate::store::{CallRow, Label, StoreError, Strangers};

/// How many calls that waited are sent to one device at a time. The rest of its places stay free for
/// calls of this moment.
const AT_ONCE: usize = 8;

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

/// Lets a call that has a person's yes wait for its device, where it may; `None` where it may not, or
/// where the device is there.
///
/// # Errors
/// The record cannot be kept.
pub(super) async fn wait_approved(
    backend: &Arc<Backend>,
    row: &CallRow,
) -> Result<Option<Reply>, StoreError> {
    let Some((device, _)) = row.device else { return Ok(None) };
    if backend.fleet.is_online(device) || row.queued_until.is_none_or(|until| until <= now_ms()) {
        return Ok(None);
    }
    let waits = row.state == CallState::Queued
        || backend.store.advance_call(row.id, CallState::Queued, now_ms()).await?;
    Ok(waits.then(|| waiting(backend, device, Reply::from(row.clone()))))
}

/// What the caller of a call that waits is told.
fn waiting(backend: &Arc<Backend>, device: DeviceId, reply: Reply) -> Reply {
    tracing::info!(call = %reply.call, tool = %reply.tool, "a call waits for its device");
    backend.bus.publish(Change::CallMoved(reply.call));
    // It may have come back while the call was recorded.
    if let Some(session) = backend.fleet.session(device) {
        begin(backend, device, session);
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

/// Sends what waits for this device, oldest first, as long as the session lives.
pub(super) fn begin(backend: &Arc<Backend>, device: DeviceId, session: Session) {
    let shared = Arc::clone(backend);
    backend.tasks.spawn(async move {
        if let Err(error) = deliver(&shared, device, &session).await {
            tracing::error!(%device, %error, "calls that wait for a device could not be read");
        }
    });
}

async fn deliver(
    backend: &Arc<Backend>,
    device: DeviceId,
    session: &Session,
) -> Result<(), StoreError> {
    let at_once = Arc::new(Semaphore::new(AT_ONCE));
    let mut after = None;
    loop {
        let page = backend.store.queued_calls(device, after).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(*last);
        for call in page {
            let place = tokio::select! {
                // A backend that stops begins nothing.
                biased;
                () = session.ended() => return Ok(()),
                () = backend.shutdown.cancelled() => return Ok(()),
                place = Arc::clone(&at_once).acquire_owned() => place.map_err(|_| StoreError::Unavailable)?,
            };
            let shared = Arc::clone(backend);
            backend.calls.spawn(async move {
                let _place = place;
                if let Err(error) = send(&shared, call).await {
                    tracing::error!(%call, %error, "a call that waited could not be sent");
                }
            });
        }
    }
}

/// Sends one call that waited, if it still may run.
async fn send(backend: &Arc<Backend>, call: CallId) -> Result<(), StoreError> {
    let Some(_delivery) = backend.fleet.delivery(call) else { return Ok(()) };
    let row = backend.store.call(&call.to_string()).await?;
    if row.state != CallState::Queued || backend.fleet.is_expected(call) {
        return Ok(());
    }
    if let Some(approval) = row.approval {
        let approval = backend.store.approval(&approval.to_string()).await?;
        return run_approved(backend, &approval, Vec::new()).await.map(drop);
    }
    let reply = Reply::from(row.clone());
    match judge(backend, row).await? {
        Ok(judged) => match judged.permit(None) {
            Ok(permit) => route::resume(backend, &judged, permit, reply, None).await,
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

/// Ends the calls that have waited for their device for as long as they may.
///
/// # Errors
/// The record cannot be read or kept.
pub async fn expire(backend: &Backend) -> Result<(), StoreError> {
    for row in backend.store.overdue_calls(now_ms()).await? {
        // One that is being sent is not over.
        let Some(_delivery) = backend.fleet.delivery(row.id) else { continue };
        let name = row.device.as_ref().map(|(_, name)| name.to_string()).unwrap_or_default();
        let message = format!(
            "{name} did not come back in the time for which the call might wait. It was not run."
        );
        let error = ToolError::new(ErrorCode::Timeout, message);
        let close = audit::closing(&Reply::from(row.clone()), error);
        if backend.store.close_unsent_call(close).await? {
            backend.bus.publish(Change::CallClosed(row.id));
        }
    }
    Ok(())
}
