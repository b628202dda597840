//! The life of a call in one function. Each step is a file beside this one:
//!
//! extract → **validate → authorize → confirm → route → result**, with the audit opened before
//! anything is sent and closed last, whatever happens.

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

/// What the one who called is told.
#[derive(Debug, Clone, PartialEq)]
pub struct CallView {
    /// The call.
    pub call: CallId,
    /// Where it is; final, or waiting for a person.
    pub state: CallState,
    /// The tool, by its own name where there is one.
    pub tool: String,
    /// The device, where one was found.
    pub device: Option<DeviceName>,
    /// The canonical arguments, JSON.
    pub arguments: Vec<u8>,
    /// Whether it is a preview.
    pub dry_run: bool,
    /// The result envelope, JSON.
    pub result: Vec<u8>,
    /// The question, while a person is asked.
    pub approval: Option<ApprovalId>,
    /// For whom.
    pub caller: Caller,
    /// When it was made, Unix milliseconds.
    pub created_at: i64,
    /// Until when it may wait for its device, Unix milliseconds.
    pub queued_until: Option<i64>,
    /// When it ended, Unix milliseconds.
    pub closed_at: Option<i64>,
}

/// Takes a call from its request to its end, or to the question that it waits on.
///
/// # Errors
/// Only where the record cannot be kept: then nothing is sent either.
pub async fn run(
    backend: &Arc<Backend>,
    caller: Caller,
    request: CallRequest,
) -> Result<CallView, StoreError> {
    run_incoming(backend, CallContext::new(caller, request)).await
}

/// The same for a call that has its identity already, so that it can be shown before it has ended.
/// The work goes on when the one who asked goes away, so that every call that was begun is closed.
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

/// Takes a call as [`run_incoming`] does and tells where it is as soon as it stands in the record. It
/// goes on by itself.
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
            // The same key may come again when there is room.
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
        // The same key came twice at once, and the other was first.
        Err(StoreError::KeyInUse) => {
            idempotency::answer(backend, &incoming).await?.ok_or(StoreError::KeyInUse)
        }
        done => done,
    }
}

/// Denies a call whose arguments nobody has to read: there is no such tool or device, or the caller may
/// not call the tool there at all. It is recorded without them. None where they have to be read.
///
/// # Errors
/// As [`run`].
pub async fn deny_unread(
    backend: &Arc<Backend>,
    mut incoming: CallContext,
) -> Result<Option<CallView>, StoreError> {
    let Err(stopped) = gate::target(backend, &incoming) else { return Ok(None) };
    // The same key may come again with arguments that are read.
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
    let judged = rate_limit::judge(backend, incoming, target, parsed).await?;
    if let Some(Preview::WouldFail(error)) = &judged.preview {
        if queue::may_wait(backend, &judged, error) {
            return queue::wait_unmeasured(backend, judged).await;
        }
        return audit::deny_judged(backend, &judged, error.clone()).await;
    }
    match judged.decision() {
        Decision::Allow => match judged.permit(None) {
            Ok(permit) => {
                let sent = route::route(backend, &judged, permit);
                raise::attempt(backend, &judged, sent).await
            }
            Err(refusal) => audit::deny_judged(backend, &judged, *refusal).await,
        },
        Decision::Ask | Decision::DryRunFirst => confirm::ask(backend, &judged, None).await,
        Decision::Deny => audit::deny_judged(backend, &judged, judged.refusal()).await,
    }
}
