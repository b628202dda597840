//! Evaluates a call with a preview, where a rule needs the quantity that the call touches.

use std::sync::Arc;

use orion_domain::{ErrorCode, Hint, ToolError};

use super::{Evaluated, Stopped, evaluate};
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::{CallContext, Previewed};
use crate::pipeline::result::DeviceReport;
use crate::pipeline::{Pipeline, preview, rate_limit};
use crate::store::StoreError;

/// The most previews that one evaluation asks for. Another one would follow a change of what the call touches.
const MAX_PREVIEWS: usize = 3;

/// Evaluates a call. Where a rule needs the quantity that the call touches, the device is asked for a
/// preview, and the call is evaluated again with it.
///
/// # Errors
/// The database cannot be read or written.
pub(in crate::pipeline) async fn measured(
    pipeline: &Arc<Pipeline>,
    mut context: CallContext,
) -> Result<Evaluated, StoreError> {
    for asked in 0..=MAX_PREVIEWS {
        let call = match evaluate(pipeline, context).await? {
            Ok(call) => call,
            Err(stopped) => return Ok(Err(stopped)),
        };
        if !rate_limit::is_measured(&call) || is_previewed(&call) {
            return Ok(Ok(call));
        }
        if asked == MAX_PREVIEWS {
            return Ok(Err(Box::new(unsteady(call))));
        }
        context = previewed(pipeline, call).await?;
        // The device may forget the preview from here on, whatever becomes of the call.
        let report = context.preview.as_mut().and_then(|it| it.report.take());
        DeviceReport::record_any(report, pipeline).await?;
    }
    Err(StoreError::Conflict)
}

/// Returns the denial of a call whose paths were others after each preview.
fn unsteady(call: EvaluatedCall) -> Stopped {
    let EvaluatedCall { context, target, .. } = call;
    let message = format!(
        "The policy or the places of {} changed again and again while the call was evaluated.",
        target.device.name
    );
    let error = ToolError::new(ErrorCode::PreconditionFailed, message)
        .hint(Hint::new("run the call again"));
    Stopped { context, target: Some(target), error, trace: Vec::new() }
}

/// Returns whether the device was asked for a preview of what this call touches.
pub(in crate::pipeline) fn is_previewed(call: &EvaluatedCall) -> bool {
    call.preview().is_some()
}

/// Asks the device for a preview, and returns the call with it.
///
/// # Errors
/// The database cannot be written.
pub(in crate::pipeline) async fn previewed(
    pipeline: &Arc<Pipeline>,
    call: EvaluatedCall,
) -> Result<CallContext, StoreError> {
    let (result, report) = preview::preview(pipeline, &call).await;
    let EvaluatedCall { mut context, parsed, .. } = call;
    context.is_fresh = false;
    let new = Previewed { result, touches: parsed.touches, report };
    if let Some(old) = context.preview.replace(new) {
        DeviceReport::record_any(old.report, pipeline).await?;
    }
    Ok(context)
}
