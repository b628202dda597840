//! What a call would do, as its device says without doing it.

mod cut;

use std::sync::Arc;
use std::time::Duration;

use orion_domain::observation::MOST_OBSERVED;
use orion_domain::rule::Quantity;
use orion_domain::{
    CallRequest, CallState, Envelope, ErrorCode, Observation, RiskRaise, ToolError,
};

use self::cut::fitting;
use super::CallView;
use super::audit::CallContext;
use super::authorize::{self, EvaluatedCall};
use super::result::DeviceReport;
use super::route::{self, End};
use crate::backend::Backend;
use crate::store::StoreError;

/// How long it may take: what it touches is looked through.
const PREVIEW_TIMEOUT: Duration = Duration::from_secs(20);
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
    /// What raises the risk of the call, as the device saw.
    #[must_use]
    pub fn raises(&self) -> Vec<RiskRaise> {
        match self {
            Self::Shown(bytes) => serde_json::from_slice::<Envelope>(bytes)
                .map(|it| it.meta.raises)
                .unwrap_or_default(),
            Self::WouldFail(_) | Self::Missing => Vec::new(),
        }
    }

    /// How much the call touches, where that is told.
    #[must_use]
    pub fn quantity(&self) -> Option<Quantity> {
        let Self::Shown(bytes) = self else { return None };
        let data = serde_json::from_slice::<Envelope>(bytes).ok()?.data?;
        let quantity =
            Quantity { entries: data["entries"].as_u64(), bytes: data["bytes"].as_u64() };
        (quantity != Quantity::default()).then_some(quantity)
    }

    /// As it is kept for the card.
    #[must_use]
    pub fn kept(self) -> Option<Vec<u8>> {
        match self {
            Self::Shown(envelope) => Some(envelope),
            Self::WouldFail(_) | Self::Missing => None,
        }
    }
}

/// What a device says of a call before it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviewResult {
    /// What it would do.
    pub preview: Preview,
    /// What it observed of each path that the call touches.
    pub observed: Vec<Observation>,
}

impl PreviewResult {
    /// Why nobody is asked, where a change of something would not show.
    ///
    /// # Errors
    /// `PRECONDITION_FAILED` with the path.
    pub fn comparable(self) -> Result<Self, ToolError> {
        let Some(blind) = self.observed.iter().find(|seen| !seen.is_comparable()) else {
            return Ok(self);
        };
        let message = format!(
            "{} changes all the time, or holds too much or something that cannot be looked at, so it cannot be compared with what is shown. Nobody is asked: name a part of it, or try again when it rests.",
            blind.path
        );
        let error = ToolError::new(ErrorCode::PreconditionFailed, message);
        Err(error.with("attempted_path", blind.path.as_str()))
    }
}

impl From<PreviewError> for PreviewResult {
    fn from(unseen: PreviewError) -> Self {
        let preview = match unseen {
            PreviewError::WouldFail(error) => Preview::WouldFail(error),
            PreviewError::NotSaid(_) => Preview::Missing,
        };
        Self { preview, observed: Vec::new() }
    }
}

/// Asks the device for a dry run of a call, and for what it observes of the paths. A tool that changes
/// nothing has none: it would be the call itself, before anybody said yes to it.
pub async fn preview(backend: &Arc<Backend>, judged: &EvaluatedCall) -> PreviewResult {
    observe(backend, judged).await.unwrap_or_else(PreviewResult::from)
}

/// What the device said, or why the call would not do what it should; none where it said neither.
fn said(reply: &CallView) -> Option<Result<Envelope, ToolError>> {
    let mut envelope: Envelope = serde_json::from_slice(&reply.result).ok()?;
    match envelope.error.take() {
        Some(error) => Some(Err(error)),
        None => (reply.state == CallState::Succeeded).then_some(Ok(envelope)),
    }
}

/// Why there is no preview.
#[derive(Debug, Clone, PartialEq)]
pub enum PreviewError {
    /// The call would not do what it should.
    WouldFail(ToolError),
    /// The device did not say.
    NotSaid(ToolError),
}

impl From<PreviewError> for ToolError {
    fn from(unseen: PreviewError) -> Self {
        match unseen {
            PreviewError::WouldFail(error) | PreviewError::NotSaid(error) => error,
        }
    }
}

/// The same as [`preview`], for those who go no further without.
///
/// # Errors
/// [`Unseen`].
pub async fn observe(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
) -> Result<PreviewResult, PreviewError> {
    let (seen, told) = run(backend, judged).await?;
    DeviceReport::record_any(told, backend).await.map_err(not_asked)?;
    Ok(seen)
}

/// The same, and what the device told is not on the record yet where it is given: it is recorded with
/// what follows from it.
///
/// # Errors
/// [`Unseen`].
pub async fn run(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
) -> Result<(PreviewResult, Option<DeviceReport>), PreviewError> {
    if !judged.target.spec.has_effects {
        return Ok((PreviewResult { preview: Preview::Missing, observed: Vec::new() }, None));
    }
    let (reply, told) = dry_run(backend, judged).await.map_err(PreviewError::NotSaid)?;
    match read(judged, &reply) {
        Ok(seen) => Ok((seen, told)),
        Err(unseen) => {
            DeviceReport::record_any(told, backend).await.map_err(not_asked)?;
            Err(unseen)
        }
    }
}

/// What is said where the record cannot be kept.
pub fn not_asked(error: StoreError) -> PreviewError {
    PreviewError::NotSaid(ToolError::new(
        ErrorCode::Internal,
        format!("Nothing was asked: {error}."),
    ))
}

fn read(judged: &EvaluatedCall, reply: &CallView) -> Result<PreviewResult, PreviewError> {
    let would_fail =
        matches!(reply.state, CallState::Failed | CallState::Refused | CallState::Denied);
    let mut envelope = match said(reply) {
        Some(Ok(envelope)) => envelope,
        Some(Err(error)) if would_fail => return Err(PreviewError::WouldFail(error)),
        Some(Err(error)) => return Err(PreviewError::NotSaid(error)),
        None => return Err(PreviewError::NotSaid(no_preview())),
    };
    // For comparing, not for reading: it holds digests of what people may not read.
    let Some(observed) = envelope.meta.observed.take() else {
        let message = format!(
            "The agent on {} is too old: it does not report what it observes. Update it.",
            judged.target.device.name
        );
        return Err(PreviewError::WouldFail(ToolError::new(ErrorCode::NotSupported, message)));
    };
    // What a device says too much of is not kept, and a path that it is silent about not compared.
    let bytes: usize = observed.iter().map(|it| it.path.len() + it.real.len()).sum();
    let is_whole = judged.parsed.touches.are_all_in(&observed);
    if observed.len() > MOST_OBSERVED || bytes > LARGEST_SEEN || !is_whole {
        return Err(PreviewError::NotSaid(no_preview()));
    }
    Ok(PreviewResult { preview: Preview::Shown(fitting(envelope, LARGEST)), observed })
}

/// What is said where a device gave no preview of a call that is not approved without one.
pub fn no_preview() -> ToolError {
    let message = "The device gave no preview, and nobody is asked without one. Try again.";
    ToolError::new(ErrorCode::PreconditionFailed, message)
}

async fn dry_run(
    backend: &Arc<Backend>,
    judged: &EvaluatedCall,
) -> Result<(CallView, Option<DeviceReport>), ToolError> {
    let request = CallRequest {
        dry_run: true,
        idempotency_key: None,
        timeout_ms: u64::try_from(PREVIEW_TIMEOUT.as_millis()).ok(),
        ..judged.incoming.request.clone()
    };
    let (caller, token) = (judged.incoming.caller.clone(), judged.incoming.token);
    let incoming = CallContext {
        plan: judged.incoming.plan,
        observe: true,
        token,
        is_internal: true,
        ..CallContext::new(caller, request)
    };
    let dry = authorize::call(incoming, judged.target.clone(), judged.parsed.clone());
    let permit = dry.permit(None).map_err(|error| *error)?;
    match route::until_told(backend, &dry, permit).await.map_err(not_asked)? {
        End::Recorded(reply) => Ok((reply, None)),
        End::Reported(reply, answer) => {
            let told = DeviceReport::of(dry.target.device.id, answer);
            Ok((told.ends(reply), Some(told)))
        }
    }
}
