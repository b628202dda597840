//! Idempotency keys: a request with a key that its person has used before gets the stored result, and the
//! call does not run twice. The same key for a different call is rejected.

mod same;

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{CallId, CallState, Envelope, ErrorCode, ToolError};
use tokio::time::{Instant, sleep, timeout_at};

use super::call::CallContext;
use super::view::CallView;
use super::{Pipeline, audit, queue};
use crate::store::StoreError;

use same::is_same;

/// The maximum length of a key, in bytes.
const MAX_KEY_BYTES: usize = 256;

/// How often to check whether a call was replaced by another.
const POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Returns the result for a key that was used before or is invalid. Returns `None` for a new call.
///
/// # Errors
/// The database cannot be read or written.
pub async fn answer(
    pipeline: &Arc<Pipeline>,
    incoming: &CallContext,
) -> Result<Option<CallView>, StoreError> {
    let Some(key) = &incoming.request.idempotency_key else { return Ok(None) };
    if key.len() > MAX_KEY_BYTES {
        let error = ToolError::new(
            ErrorCode::InvalidArgument,
            format!("An idempotency key has at most {MAX_KEY_BYTES} bytes."),
        );
        return refuse(pipeline, incoming, error).await.map(Some);
    }
    let Some(earlier) = pipeline.store.find_idempotent(&incoming.caller.user, key).await? else {
        return Ok(None);
    };
    if !is_same(pipeline, incoming, &earlier).await {
        let error = ToolError::new(
            ErrorCode::PreconditionFailed,
            "This idempotency key was used for another call.",
        )
        .hint("give each call a key of its own")
        .with("earlier_call", earlier.id.to_string());
        return refuse(pipeline, incoming, error).await.map(Some);
    }
    // The second request waits as long as a call of its own would.
    let wait = if incoming.background {
        Duration::ZERO
    } else {
        pipeline.config.call_timeout(incoming.request.timeout_ms)
    };
    let until = Instant::now() + wait;
    let view = ended(pipeline, earlier.id, until).await?;
    let view = match replacing(pipeline, incoming, key, &view, until).await? {
        Some(other) => ended(pipeline, other, until).await?,
        None => view,
    };
    Ok(Some(refused_before(view)))
}

/// Returns the call that replaced one which its device refused, and that has its key.
async fn replacing(
    pipeline: &Pipeline,
    incoming: &CallContext,
    key: &str,
    refused: &CallView,
    until: Instant,
) -> Result<Option<CallId>, StoreError> {
    if refused.state != CallState::Refused {
        return Ok(None);
    }
    while pipeline.limits.is_attempted(refused.call) && Instant::now() < until {
        sleep(POLL_INTERVAL).await;
    }
    let holder = pipeline.store.find_idempotent(&incoming.caller.user, key).await?;
    Ok(holder.map(|holder| holder.id).filter(|id| *id != refused.call))
}

/// Adds to a refusal that it is the earlier call's: the cause may have changed since.
fn refused_before(view: CallView) -> CallView {
    const BEFORE: &str = "This is the answer to the first call under this idempotency key. Give another key to run the call again.";
    if !matches!(view.state, CallState::Denied | CallState::Refused) {
        return view;
    }
    let Ok(mut envelope) = serde_json::from_slice::<Envelope>(&view.result) else { return view };
    let Some(error) = &mut envelope.error else { return view };
    error.message = format!("{} {BEFORE}", error.message);
    envelope.message.clone_from(&error.message);
    match serde_json::to_vec(&envelope) {
        Ok(result) => CallView { result, ..view },
        Err(_) => view,
    }
}

/// Denies the call without a key: the given key is in use or invalid.
async fn refuse(
    pipeline: &Arc<Pipeline>,
    incoming: &CallContext,
    error: ToolError,
) -> Result<CallView, StoreError> {
    let mut incoming = incoming.clone();
    incoming.request.idempotency_key = None;
    audit::deny(pipeline, incoming, None, error).await
}

/// Returns a call when it has ended, or waits for a person or its device, or at this deadline.
async fn ended(pipeline: &Pipeline, call: CallId, until: Instant) -> Result<CallView, StoreError> {
    let mut changes = pipeline.bus.watch_call(call);
    loop {
        let view = CallView::from(pipeline.store.call(call).await?);
        if view.state == CallState::Queued {
            return Ok(queue::describe(view));
        }
        let is_over = view.state.is_closed() || view.state == CallState::AwaitingApproval;
        if is_over || timeout_at(until, changes.changed()).await.is_err() {
            return Ok(view);
        }
    }
}
