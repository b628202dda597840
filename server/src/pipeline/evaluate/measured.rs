//! Evaluates a call with a preview, where a rule needs the quantity that the call touches.

use std::sync::Arc;

use orion_domain::{ErrorCode, ToolError};

use super::{Evaluated, Stopped, evaluate};
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::{CallContext, Previewed};
use crate::pipeline::result::DeviceReport;
use crate::pipeline::{Pipeline, preview, rate_limit, validate};
use crate::store::StoreError;

/// The most previews of one call. The next one would follow a change of the policy or of the device.
const MAX_PREVIEWS: usize = 4;

/// Evaluates a call. Where a rule needs the quantity that the call touches, the device is asked for a
/// preview, and the call is evaluated again with it.
///
/// # Errors
/// The database cannot be read or written.
pub(in crate::pipeline) async fn measured(
    pipeline: &Arc<Pipeline>,
    mut context: CallContext,
) -> Result<Evaluated, StoreError> {
    for _ in 0..MAX_PREVIEWS {
        let call = match evaluate(pipeline, context).await? {
            Ok(call) => call,
            Err(stopped) => return Ok(Err(stopped)),
        };
        if !rate_limit::is_measured(&call) || is_previewed(&call) {
            return Ok(Ok(call));
        }
        context = previewed(pipeline, call).await?;
    }
    let error = ToolError::new(
        ErrorCode::PreconditionFailed,
        "The policy or the places of the device changed while the call was evaluated. Run the call again.",
    );
    let target = validate::find_target(pipeline, &context.request).ok();
    Ok(Err(Box::new(Stopped { context, target, error, trace: Vec::new() })))
}

/// Returns whether the device was asked for a preview of what this call touches.
pub(in crate::pipeline) fn is_previewed(call: &EvaluatedCall) -> bool {
    call.context.preview.as_ref().is_some_and(|it| it.touches == call.parsed.touches)
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
    let EvaluatedCall { mut context, target, parsed, .. } = call;
    // A name may be given to another device meanwhile.
    context.request.device = Some(target.device.id.to_string());
    let new = Previewed { result, touches: parsed.touches, report };
    if let Some(old) = context.preview.replace(new) {
        DeviceReport::record_any(old.report, pipeline).await?;
    }
    Ok(context)
}
