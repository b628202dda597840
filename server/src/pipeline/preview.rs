//! What a call would do, as its device says without doing it.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::observation::MOST_OBSERVED;
use orion_domain::rule::Quantity;
use orion_domain::{CallRequest, CallState, Envelope, ErrorCode, Observation, PlanId, ToolError};

use super::audit::{Incoming, OfPlan};
use super::authorize::{self, Judged};
use super::{Reply, route};
use crate::backend::Backend;

/// How long it may take.
const TIME: Duration = Duration::from_secs(5);
/// How long it may take where files are hashed as well.
const LONGER: Duration = Duration::from_secs(20);
/// The largest preview that is kept, in bytes. It is the device's own words, and a card is short.
const LARGEST: usize = 64 * 1024;
/// The most bytes of paths in what a device sees.
const LARGEST_SEEN: usize = 512 * 1024;

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
    let plan = judged.incoming.plan.as_ref().map(|plan| plan.id);
    let plan = plan.map(|id| OfPlan { id, observe: false, observed: Vec::new() });
    let Ok(reply) = dry_run(backend, judged, TIME, plan).await else { return Preview::Missing };
    let would_fail =
        matches!(reply.state, CallState::Failed | CallState::Refused | CallState::Denied);
    match said(&reply) {
        Some(Ok(envelope)) => shown(&envelope),
        Some(Err(error)) if would_fail => Preview::WouldFail(error),
        Some(Err(_)) | None => Preview::Missing,
    }
}

/// What the device said, or why the call would not do what it should; none where it said neither.
fn said(reply: &Reply) -> Option<Result<Envelope, ToolError>> {
    let mut envelope: Envelope = serde_json::from_slice(&reply.result).ok()?;
    match envelope.error.take() {
        Some(error) => Some(Err(error)),
        None => (reply.state == CallState::Succeeded).then_some(Ok(envelope)),
    }
}

/// A preview that is kept, where it is not too large to be.
fn shown(envelope: &Envelope) -> Preview {
    match serde_json::to_vec(envelope) {
        Ok(shown) if shown.len() <= LARGEST => Preview::Shown(shown),
        Ok(_) | Err(_) => Preview::Missing,
    }
}

/// What a device says of a step of a plan.
#[derive(Debug, Clone, PartialEq)]
pub struct Seen {
    /// What it would do; missing where that is too much to be kept.
    pub preview: Preview,
    /// What it saw of the paths.
    pub observed: Vec<Observation>,
}

/// Asks the device for a dry run of a step, and for what it sees of the paths. A step that changes
/// nothing is not looked at: that would be the step itself, before anybody said yes to it.
///
/// # Errors
/// Why the step would not do what it should, or cannot be previewed.
pub async fn observe(
    backend: &Arc<Backend>,
    judged: &Judged,
    plan: PlanId,
) -> Result<Seen, ToolError> {
    if !judged.target.spec.has_effects {
        return Ok(Seen { preview: Preview::Missing, observed: Vec::new() });
    }
    let of_plan = OfPlan { id: plan, observe: true, observed: Vec::new() };
    let reply = dry_run(backend, judged, LONGER, Some(of_plan)).await?;
    let mut envelope = said(&reply).ok_or_else(no_preview)??;
    // For comparing, not for reading: it holds digests of what people may not read.
    let Some(observed) = envelope.meta.observed.take() else {
        let message = format!(
            "The agent on {} is too old for plans: it does not tell what it sees. Update it, or make the calls one by one.",
            judged.target.device.name
        );
        return Err(ToolError::new(ErrorCode::NotSupported, message));
    };
    // What a device says too much of is not kept, and a path that it is silent about not compared.
    let bytes: usize = observed.iter().map(|it| it.path.len() + it.real.len()).sum();
    let touched = judged.parsed.touches.paths.iter().take(MOST_OBSERVED);
    let is_whole = touched
        .map(|touch| touch.path.to_string())
        .all(|path| observed.iter().any(|seen| seen.path == path));
    if observed.len() > MOST_OBSERVED || bytes > LARGEST_SEEN || !is_whole {
        return Err(no_preview());
    }
    Ok(Seen { preview: shown(&envelope), observed })
}

fn no_preview() -> ToolError {
    let message = "The device gave no preview of this. Try again.";
    ToolError::new(ErrorCode::PreconditionFailed, message)
}

async fn dry_run(
    backend: &Arc<Backend>,
    judged: &Judged,
    time: Duration,
    plan: Option<OfPlan>,
) -> Result<Reply, ToolError> {
    let request = CallRequest {
        dry_run: true,
        idempotency_key: None,
        timeout_ms: Some(u64::try_from(time.as_millis()).unwrap_or(5_000)),
        ..judged.incoming.request.clone()
    };
    let (caller, token) = (judged.incoming.caller.clone(), judged.incoming.token);
    let incoming = Incoming { plan, token, is_own: true, ..Incoming::new(caller, request) };
    let dry = authorize::call(incoming, judged.target.clone(), judged.parsed.clone());
    let permit = dry.permit(None).map_err(|error| *error)?;
    route::route(backend, &dry, permit).await.map_err(|error| {
        ToolError::new(ErrorCode::Internal, format!("Nothing was asked: {error}."))
    })
}
