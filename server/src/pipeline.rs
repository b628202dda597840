//! Runs a call from its request to its end in one function. Each step is a file beside this one:
//!
//! extract → **validate → authorize → confirm → route → result**. The call is stored before anything is
//! sent and closed last, in every case. This file decides nothing itself.

pub mod audit;
pub mod authorize;
pub mod call_limits;
pub mod cancel;
pub mod confirm;
pub mod explain;
pub mod extract;
mod gate;
pub mod idempotency;
pub mod plan;
pub mod preview;
pub mod queue;
pub mod raise;
pub mod rate_limit;
pub mod reauthorize;
pub mod reconcile;
pub mod result;
pub mod route;
mod undo;
pub mod validate;

use std::sync::Arc;

use orion_domain::evaluate::Decision;
use orion_domain::{ApprovalId, CallId, CallRequest, CallState, Caller, DeviceName};

use self::audit::CallContext;
use self::gate::Stopped;
use self::preview::Preview;
use crate::backend::Backend;
use crate::store::StoreError;

/// The state of a call, as its caller sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct CallView {
    /// The id of the call.
    pub call: CallId,
    /// The state: final, or waiting for a person or a device.
    pub state: CallState,
    /// The tool's name, without aliases. The requested name if there is no such tool.
    pub tool: String,
    /// The device. None if none was found.
    pub device: Option<DeviceName>,
    /// Canonical JSON.
    pub arguments: Vec<u8>,
    /// Whether it is a preview.
    pub dry_run: bool,
    /// The result envelope, JSON. Empty until there is one.
    pub result: Vec<u8>,
    /// The open approval request. None while no approval is needed.
    pub approval: Option<ApprovalId>,
    /// The person that the call is made for.
    pub caller: Caller,
    /// Unix milliseconds.
    pub created_at: i64,
    /// Until when the call may wait for its device, Unix milliseconds. None if it may not wait.
    pub queued_until: Option<i64>,
    /// Unix milliseconds. None until the call ends.
    pub closed_at: Option<i64>,
}

/// Runs a call to its end, or to the approval request that it waits for.
///
/// # Errors
/// The database cannot be written; then nothing is sent.
pub async fn run(
    backend: &Arc<Backend>,
    caller: Caller,
    request: CallRequest,
) -> Result<CallView, StoreError> {
    run_incoming(backend, CallContext::new(caller, request)).await
}

/// Runs a call that has its id already, so that it can be shown before it ends. The work continues if the
/// requester disconnects, so that every opened call is closed.
///
/// # Errors
/// As [`run`].
pub async fn run_incoming(
    backend: &Arc<Backend>,
    incoming: CallContext,
) -> Result<CallView, StoreError> {
    if backend.shutdown.is_cancelled() {
        return Err(StoreError::Unavailable);
    }
    let shared = Arc::clone(backend);
    let task = backend.calls.spawn(async move { steps(&shared, incoming).await });
    task.await.unwrap_or(Err(StoreError::Unavailable))
}

/// Runs a call as [`run_incoming`] does and returns its state as soon as it is stored. The call continues
/// in the background.
///
/// # Errors
/// As [`run`].
pub async fn begin(backend: &Arc<Backend>, incoming: CallContext) -> Result<CallView, StoreError> {
    let id = incoming.id;
    let mut changes = backend.bus.watch_call(id);
    let run = run_incoming(backend, incoming);
    tokio::pin!(run);
    loop {
        tokio::select! {
            done = &mut run => return done,
            () = changes.changed() => {}
        }
        match backend.store.call(&id.to_string()).await {
            Ok(row) if row.state != CallState::Received => return Ok(CallView::from(row)),
            Ok(_) | Err(StoreError::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
}

async fn steps(backend: &Arc<Backend>, incoming: CallContext) -> Result<CallView, StoreError> {
    let most = backend.config.calls.in_flight_per_person;
    let _place = match backend.load.acquire_slot(&incoming.caller.user, most) {
        Ok(place) => place,
        Err(error) => {
            let mut incoming = incoming;
            // The key may be used again when a slot is free.
            incoming.request.idempotency_key = None;
            return audit::deny(backend, incoming, None, error).await;
        }
    };
    if incoming.request.idempotency_key.is_none() {
        return first_time(backend, incoming).await;
    }
    if let Some(earlier) = idempotency::answer(backend, &incoming).await? {
        return Ok(earlier);
    }
    match first_time(backend, incoming.clone()).await {
        // Two requests with the same key came at once, and the other one was stored first.
        Err(StoreError::KeyInUse) => {
            idempotency::answer(backend, &incoming).await?.ok_or(StoreError::KeyInUse)
        }
        done => done,
    }
}

/// Denies a call without reading its arguments: the tool or device does not exist, or the caller may not
/// call the tool there at all. The call is stored without arguments. Returns `None` if the arguments have
/// to be read.
///
/// # Errors
/// As [`run`].
pub async fn deny_unread(
    backend: &Arc<Backend>,
    mut incoming: CallContext,
) -> Result<Option<CallView>, StoreError> {
    let Err(stopped) = gate::target(backend, &incoming) else { return Ok(None) };
    // The key may be used again with arguments that are read.
    incoming.request.idempotency_key = None;
    audit::deny(backend, incoming, stopped.target.as_ref(), stopped.error).await.map(Some)
}

async fn first_time(backend: &Arc<Backend>, incoming: CallContext) -> Result<CallView, StoreError> {
    let (target, parsed) = match gate::take(backend, &incoming).await? {
        Ok(taken) => taken,
        Err(stopped) => {
            let Stopped { target, error, .. } = *stopped;
            return audit::deny(backend, incoming, target.as_ref(), error).await;
        }
    };
    let evaluated = rate_limit::judge(backend, incoming, target, parsed).await?;
    if let Some(Preview::WouldFail(error)) = &evaluated.preview {
        if queue::may_wait(backend, &evaluated, error) {
            return queue::wait_unmeasured(backend, evaluated).await;
        }
        return audit::deny_judged(backend, &evaluated, error.clone()).await;
    }
    match evaluated.decision() {
        Decision::Allow => match evaluated.permit(None) {
            Ok(permit) => {
                let sent = route::route(backend, &evaluated, permit);
                raise::attempt(backend, &evaluated, sent).await
            }
            Err(refusal) => audit::deny_judged(backend, &evaluated, *refusal).await,
        },
        Decision::Ask | Decision::DryRunFirst => confirm::ask(backend, &evaluated, None).await,
        Decision::Deny => audit::deny_judged(backend, &evaluated, evaluated.refusal()).await,
    }
}
