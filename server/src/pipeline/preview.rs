//! What a call would do, as its device says without doing it.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::rule::Quantity;
use orion_domain::{CallRequest, CallState, Envelope, ToolError};

use super::audit::Incoming;
use super::authorize::{self, Judged};
use super::route;
use crate::backend::Backend;

/// How long it may take.
const TIME: Duration = Duration::from_secs(5);
/// The largest preview that is kept, in bytes. It is the device's own words, and a card is short.
const LARGEST: usize = 64 * 1024;

/// What the device said.
#[derive(Debug, Clone, PartialEq)]
pub enum Preview {
    /// An envelope, JSON.
    Shown(Vec<u8>),
    /// It would not do what it should.
    WouldFail(ToolError),
    /// It did not say, or not soon enough.
    Missing,
}

impl Preview {
    /// How much the call touches, where that is told.
    #[must_use]
    pub fn quantity(&self) -> Option<Quantity> {
        let Self::Shown(bytes) = self else { return None };
        let data = serde_json::from_slice::<Envelope>(bytes).ok()?.data?;
        let quantity =
            Quantity { entries: data["entries"].as_u64(), bytes: data["bytes"].as_u64() };
        (quantity != Quantity::default()).then_some(quantity)
    }
}

/// Asks the device for a dry run of a call. A tool that changes nothing has none: it would be the call
/// itself, before anybody said yes to it.
pub async fn preview(backend: &Arc<Backend>, judged: &Judged) -> Preview {
    if !judged.target.spec.has_effects {
        return Preview::Missing;
    }
    let request = CallRequest {
        dry_run: true,
        idempotency_key: None,
        timeout_ms: Some(u64::try_from(TIME.as_millis()).unwrap_or(5_000)),
        ..judged.incoming.request.clone()
    };
    let incoming = Incoming::new(judged.incoming.caller.clone(), request);
    let dry = authorize::call(incoming, judged.target.clone(), judged.parsed.clone());
    let Ok(permit) = dry.permit(None) else { return Preview::Missing };
    let Ok(reply) = route::route(backend, &dry, permit).await else { return Preview::Missing };
    let would_fail =
        matches!(reply.state, CallState::Failed | CallState::Refused | CallState::Denied);
    if would_fail
        && let Ok(Envelope { error: Some(error), .. }) = serde_json::from_slice(&reply.result)
    {
        return Preview::WouldFail(error);
    }
    if reply.state == CallState::Succeeded && reply.result.len() <= LARGEST {
        return Preview::Shown(reply.result);
    }
    Preview::Missing
}
