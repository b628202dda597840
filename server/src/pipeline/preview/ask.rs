//! Asks a device for a preview: a dry run of the call, with an observation of each path that it touches.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{CallRequest, ErrorCode, ToolError};

use super::read::read;
use super::{Preview, PreviewError, PreviewResult};
use crate::pipeline::authorize::EvaluatedCall;
use crate::pipeline::call::{CallContext, Origin};
use crate::pipeline::result::DeviceReport;
use crate::pipeline::view::CallView;
use crate::pipeline::{Ended, Pipeline};
use crate::store::StoreError;

/// How long a preview may take; the device reads through everything that the call touches.
const PREVIEW_TIMEOUT: Duration = Duration::from_secs(20);

/// Asks the device for a dry run of a call and for observations of the paths. A tool without effects has no
/// preview: it would be the call itself, before anybody approved it. A returned device report is not stored
/// yet: the caller stores it with what follows from it.
pub(in crate::pipeline) async fn preview(
    pipeline: &Arc<Pipeline>,
    evaluated: &EvaluatedCall,
) -> (PreviewResult, Option<DeviceReport>) {
    run(pipeline, evaluated).await.unwrap_or_else(|error| (error.into(), None))
}

/// Asks for a preview as [`preview`] does, for callers that do not continue without one.
///
/// # Errors
/// See [`PreviewError`].
pub(in crate::pipeline) async fn observe(
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
