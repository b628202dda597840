//! Previews: what a call would do, as its device reports in a dry run.

mod cut;

use std::sync::Arc;
use std::time::Duration;

use orion_domain::observation::MAX_OBSERVED;
use orion_domain::rule::Quantity;
use orion_domain::{
    Actor, CallRequest, CallState, Envelope, ErrorCode, Hint, Observation, RiskRaise, ToolError,
};

use self::cut::fitting;
use super::authorize::EvaluatedCall;
use super::call::{CallContext, Origin};
use super::result::DeviceReport;
use super::view::CallView;
use super::{Ended, Pipeline};
use crate::store::StoreError;

/// How long a preview may take; the device reads through everything that the call touches.
const PREVIEW_TIMEOUT: Duration = Duration::from_secs(20);
/// The largest stored preview, in bytes. The device writes it, and an approval card is short.
const MAX_PREVIEW_BYTES: usize = 64 * 1024;
/// The most bytes of paths in the observations of a preview.
const MAX_OBSERVED_PATH_BYTES: usize = 512 * 1024;

/// The result of a preview.
#[derive(Debug, Clone, PartialEq)]
pub enum Preview {
    /// An envelope, JSON.
    Shown(Vec<u8>),
    /// The call would fail.
    WouldFail(ToolError),
    /// The device did not report, or not in time.
    Missing,
}

impl Preview {
    /// Returns why the risk is higher, as the device reported.
    #[must_use]
    pub fn raises(&self) -> Vec<RiskRaise> {
        match self {
            Self::Shown(bytes) => serde_json::from_slice::<Envelope>(bytes)
                .map(|it| it.meta.raises)
                .unwrap_or_default(),
            Self::WouldFail(_) | Self::Missing => Vec::new(),
        }
    }

    /// Returns how much the call touches. None if the device did not report it.
    #[must_use]
    pub fn quantity(&self) -> Option<Quantity> {
        let Self::Shown(bytes) = self else { return None };
        let data = serde_json::from_slice::<Envelope>(bytes).ok()?.data?;
        let quantity =
            Quantity { entries: data["entries"].as_u64(), bytes: data["bytes"].as_u64() };
        (quantity != Quantity::default()).then_some(quantity)
    }

    /// Returns the preview as it is stored for the approval card. None if there is none.
    #[must_use]
    pub fn kept(self) -> Option<Vec<u8>> {
        match self {
            Self::Shown(envelope) => Some(envelope),
            Self::WouldFail(_) | Self::Missing => None,
        }
    }
}

/// What a device reports of a call before it runs.
#[derive(Debug, Clone, PartialEq)]
pub struct PreviewResult {
    /// What the call would do.
    pub preview: Preview,
    /// The observation of each path that the call touches.
    pub observed: Vec<Observation>,
}

impl PreviewResult {
    /// Checks that a later change of each path would be noticed; otherwise nobody is asked.
    ///
    /// # Errors
    /// `PRECONDITION_FAILED` with the path.
    pub fn comparable(self) -> Result<Self, ToolError> {
        let Some(blind) = self.observed.iter().find(|seen| !seen.is_comparable()) else {
            return Ok(self);
        };
        let message = format!(
            "{} changes all the time, or holds too much or something that cannot be looked at, so it cannot be compared with what is shown. No approval is requested.",
            blind.path
        );
        let error = ToolError::new(ErrorCode::PreconditionFailed, message);
        let error = error.hint("name a part of it, or try again when it does not change");
        Err(error.with("attempted_path", blind.path.as_str()))
    }
}

impl From<PreviewError> for PreviewResult {
    fn from(error: PreviewError) -> Self {
        let preview = match error {
            PreviewError::WouldFail(error) => Preview::WouldFail(error),
            PreviewError::NotSaid(_) => Preview::Missing,
        };
        Self { preview, observed: Vec::new() }
    }
}

/// Asks the device for a dry run of a call and for observations of the paths. A tool without effects has no
/// preview: it would be the call itself, before anybody approved it. A returned device report is not stored
/// yet: the caller stores it with what follows from it.
pub(super) async fn preview(
    pipeline: &Arc<Pipeline>,
    evaluated: &EvaluatedCall,
) -> (PreviewResult, Option<DeviceReport>) {
    run(pipeline, evaluated).await.unwrap_or_else(|error| (error.into(), None))
}

/// Returns the device's report, or why the call would fail. None if the device sent neither.
fn parse_envelope(view: &CallView) -> Option<Result<Envelope, ToolError>> {
    let mut envelope: Envelope = serde_json::from_slice(&view.result).ok()?;
    match envelope.error.take() {
        Some(error) => Some(Err(error)),
        None => (view.state == CallState::Succeeded).then_some(Ok(envelope)),
    }
}

/// Why there is no preview.
#[derive(Debug, Clone, PartialEq)]
pub enum PreviewError {
    /// The call would fail.
    WouldFail(ToolError),
    /// The device did not report.
    NotSaid(ToolError),
}

impl From<PreviewError> for ToolError {
    fn from(error: PreviewError) -> Self {
        match error {
            PreviewError::WouldFail(error) | PreviewError::NotSaid(error) => error,
        }
    }
}

/// Asks for a preview as [`preview`] does, for callers that do not continue without one.
///
/// # Errors
/// See [`PreviewError`].
pub(super) async fn observe(
    pipeline: &Arc<Pipeline>,
    evaluated: &EvaluatedCall,
) -> Result<PreviewResult, PreviewError> {
    let (seen, report) = run(pipeline, evaluated).await?;
    DeviceReport::record_any(report, pipeline).await.map_err(not_asked)?;
    Ok(seen)
}

async fn run(
    pipeline: &Arc<Pipeline>,
    evaluated: &EvaluatedCall,
) -> Result<(PreviewResult, Option<DeviceReport>), PreviewError> {
    if !evaluated.target.spec.has_effects {
        return Ok((PreviewResult { preview: Preview::Missing, observed: Vec::new() }, None));
    }
    let (view, report) = dry_run(pipeline, evaluated).await.map_err(PreviewError::NotSaid)?;
    match read(evaluated, &view) {
        Ok(seen) => Ok((seen, report)),
        Err(error) => {
            DeviceReport::record_any(report, pipeline).await.map_err(not_asked)?;
            Err(error)
        }
    }
}

/// Returns the error for a database that cannot be written.
pub fn not_asked(error: StoreError) -> PreviewError {
    PreviewError::NotSaid(ToolError::new(
        ErrorCode::Internal,
        format!("Nothing was asked: {error}."),
    ))
}

fn read(evaluated: &EvaluatedCall, view: &CallView) -> Result<PreviewResult, PreviewError> {
    let would_fail =
        matches!(view.state, CallState::Failed | CallState::Refused | CallState::Denied);
    let mut envelope = match parse_envelope(view) {
        Some(Ok(envelope)) => envelope,
        Some(Err(error)) if would_fail => return Err(PreviewError::WouldFail(error)),
        Some(Err(error)) => return Err(PreviewError::NotSaid(error)),
        None => return Err(PreviewError::NotSaid(no_preview())),
    };
    // Observations are for comparison only: they hold digests of files that people may not read.
    let Some(observed) = envelope.meta.observed.take() else {
        let message = format!(
            "The agent on {} is too old: it does not report what it observes.",
            evaluated.target.device.name
        );
        let error = ToolError::new(ErrorCode::NotSupported, message);
        let hint = Hint::new("update the agent").by(Actor::Owner);
        return Err(PreviewError::WouldFail(error.hint(hint)));
    };
    // Too large observations are not stored, and a preview that leaves out a path is not used.
    let bytes: usize = observed.iter().map(|it| it.path.len() + it.real.len()).sum();
    let is_whole = evaluated.parsed.touches.are_all_in(&observed);
    if observed.len() > MAX_OBSERVED || bytes > MAX_OBSERVED_PATH_BYTES || !is_whole {
        return Err(PreviewError::NotSaid(no_preview()));
    }
    Ok(PreviewResult { preview: Preview::Shown(fitting(envelope, MAX_PREVIEW_BYTES)), observed })
}

/// Returns the error for a missing preview of a call that needs one for its approval.
pub fn no_preview() -> ToolError {
    let message = "The device gave no preview, and no approval is requested without one.";
    ToolError::new(ErrorCode::PreconditionFailed, message).hint("try again")
}

async fn dry_run(
    pipeline: &Arc<Pipeline>,
    evaluated: &EvaluatedCall,
) -> Result<(CallView, Option<DeviceReport>), ToolError> {
    let EvaluatedCall { context, target, .. } = evaluated;
    let request = CallRequest {
        device: Some(target.device.id.to_string()),
        dry_run: true,
        idempotency_key: None,
        timeout_ms: u64::try_from(PREVIEW_TIMEOUT.as_millis()).ok(),
        queue: Some(false),
        ..context.request.clone()
    };
    let dry = CallContext {
        origin: Origin::Preview { plan: context.plan(), observe: true },
        token: context.token,
        ..CallContext::new(context.caller.clone(), request)
    };
    let Ended { view, report } = pipeline.run_preview(dry).await.map_err(not_asked)?;
    Ok((view, report))
}
