//! The same call again: one that comes under a key which its person has used before is answered
//! from the record and not run twice. The same key for another call is refused.

use std::sync::Arc;
use std::time::Duration;

use orion_catalog::find;
use orion_domain::{CallId, CallState, Envelope, ErrorCode, ToolError};
use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};

use super::audit::{self, CallContext, NAMED};
use super::{CallView, queue};
use crate::backend::Backend;
use crate::store::{CallRow, StoreError};

/// The longest key, in bytes.
const LONGEST: usize = 256;
/// How often it is looked whether a call was made in place of another.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// The answer to a call whose key was used before, or is no key; none for a call that is new.
///
/// # Errors
/// The record cannot be read or kept.
pub async fn answer(
    backend: &Arc<Backend>,
    incoming: &CallContext,
) -> Result<Option<CallView>, StoreError> {
    let Some(key) = &incoming.request.idempotency_key else { return Ok(None) };
    if key.len() > LONGEST {
        let error = ToolError::new(
            ErrorCode::InvalidArgument,
            format!("An idempotency key has at most {LONGEST} bytes."),
        );
        return refuse(backend, incoming, error).await.map(Some);
    }
    let Some(earlier) = backend.store.find_idempotent(&incoming.caller.user, key).await? else {
        return Ok(None);
    };
    if !is_same(backend, incoming, &earlier) {
        let error = ToolError::new(
            ErrorCode::PreconditionFailed,
            "This idempotency key was used for another call. Give each call a key of its own.",
        )
        .with("earlier_call", earlier.id.to_string());
        return refuse(backend, incoming, error).await.map(Some);
    }
    // The second request waits as long as it would for a call of its own.
    let wait = if incoming.background {
        Duration::ZERO
    } else {
        backend.config.call_timeout(incoming.request.timeout_ms)
    };
    let until = Instant::now() + wait;
    let reply = ended(backend, earlier.id, until).await?;
    let reply = match replacing(backend, incoming, key, &reply, until).await? {
        Some(other) => ended(backend, other, until).await?,
        None => reply,
    };
    Ok(Some(refused_before(reply)))
}

/// The call that was made in place of one which its device refused, and has its key.
async fn replacing(
    backend: &Backend,
    incoming: &CallContext,
    key: &str,
    refused: &CallView,
    until: Instant,
) -> Result<Option<CallId>, StoreError> {
    if refused.state != CallState::Refused {
        return Ok(None);
    }
    while backend.load.is_attempted(refused.call) && Instant::now() < until {
        sleep(LOOK_EVERY).await;
    }
    let holder = backend.store.find_idempotent(&incoming.caller.user, key).await?;
    Ok(holder.map(|holder| holder.id).filter(|id| *id != refused.call))
}

/// Says of a refusal that it is the earlier call's: who asks again may have changed what it was about.
fn refused_before(reply: CallView) -> CallView {
    const BEFORE: &str = "This is the answer to the first call under this idempotency key, which stands. Give another key to make the call anew.";
    if !matches!(reply.state, CallState::Denied | CallState::Refused) {
        return reply;
    }
    let Ok(mut envelope) = serde_json::from_slice::<Envelope>(&reply.result) else { return reply };
    let Some(error) = &mut envelope.error else { return reply };
    error.message = format!("{} {BEFORE}", error.message);
    envelope.message.clone_from(&error.message);
    match serde_json::to_vec(&envelope) {
        Ok(result) => CallView { result, ..reply },
        Err(_) => reply,
    }
}

/// Denies under no key: the one that was given is taken, or is none.
async fn refuse(
    backend: &Arc<Backend>,
    incoming: &CallContext,
    error: ToolError,
) -> Result<CallView, StoreError> {
    let mut incoming = incoming.clone();
    incoming.request.idempotency_key = None;
    audit::deny(backend, incoming, None, error).await
}

/// Whether it asks for what the earlier call asked for. That one may have been recorded before its
/// device was found and its arguments were completed.
fn is_same(backend: &Backend, incoming: &CallContext, earlier: &CallRow) -> bool {
    let request = &incoming.request;
    let found = find(&request.tool);
    let tool = match found {
        Some((spec, _)) => spec.name == earlier.tool,
        None => request.tool.chars().take(NAMED).eq(earlier.tool.chars()),
    };
    let device = match (&request.device, &earlier.device) {
        (None, _) | (_, None) => true,
        (Some(wanted), Some((id, name))) => {
            wanted == name.as_str()
                || backend.fleet.find(Some(wanted)).is_ok_and(|known| known.id == *id)
        }
    };
    tool && device
        && request.dry_run == earlier.dry_run
        && (incoming.canonical().digest() == earlier.arguments_digest
            || completed(backend, incoming, earlier) == Some(earlier.arguments_digest))
}

/// The digest of the arguments with every default.
fn completed(
    backend: &Backend,
    incoming: &CallContext,
    earlier: &CallRow,
) -> Option<orion_domain::Digest> {
    let (spec, alias) = find(&incoming.request.tool)?;
    let known = backend.fleet.known(earlier.device.as_ref()?.0)?;
    let mut arguments: serde_json::Map<String, Value> = incoming.request.arguments.clone();
    if let Some(alias) = alias {
        (alias.adapt)(&mut arguments);
    }
    spec.rename_arguments(&mut arguments);
    let parsed = spec.parse(arguments, known.places()?).ok()?;
    Some(parsed.arguments.digest())
}

/// A call when it has ended, or waits for a person or its device; as it is when this time is over.
async fn ended(backend: &Backend, call: CallId, until: Instant) -> Result<CallView, StoreError> {
    let mut changes = backend.bus.watch_call(call);
    loop {
        let reply = CallView::from(backend.store.call(&call.to_string()).await?);
        if reply.state == CallState::Queued {
            return Ok(queue::describe(reply));
        }
        let is_over = reply.state.is_closed() || reply.state == CallState::AwaitingApproval;
        if is_over || timeout_at(until, changes.changed()).await.is_err() {
            return Ok(reply);
        }
    }
}
