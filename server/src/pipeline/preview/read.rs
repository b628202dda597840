//! Reads what a device reported of a dry run. A report that leaves out a path, or is too large, is no
//! preview.

use orion_domain::observation::MAX_OBSERVED;
use orion_domain::{Actor, CallState, Envelope, ErrorCode, Hint, ToolError};

use super::cut::fitting;
use super::{Preview, PreviewError, PreviewResult};
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::view::CallView;

/// The largest stored preview, in bytes. The device writes it, and an approval card is short.
const MAX_PREVIEW_BYTES: usize = 64 * 1024;

/// The most bytes of paths in the observations of a preview.
const MAX_OBSERVED_PATH_BYTES: usize = 512 * 1024;

/// Returns the device's report, or why the call would fail. None if the device sent neither.
fn parse_envelope(view: &CallView) -> Option<Result<Envelope, ToolError>> {
    let mut envelope: Envelope = serde_json::from_slice(&view.result).ok()?;
    match envelope.error.take() {
        Some(error) => Some(Err(error)),
        None => (view.state == CallState::Succeeded).then_some(Ok(envelope)),
    }
}

pub(super) fn read(
    evaluated: &EvaluatedCall,
    view: &CallView,
) -> Result<PreviewResult, PreviewError> {
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
