//! Resumes the calls that were approved and not started when the backend stopped.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{DeviceId, ErrorCode, ToolError};

use super::expire::close_asked;
use super::run_approved;
use crate::clock::now_ms;
use crate::pipeline::Pipeline;
use crate::store::{ApprovalRow, StoreError};

/// How long an approved call waits for its device after a restart of the backend.
const RECONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Resumes the calls that were approved and not started when the backend stopped, each when its device is
/// back. An approval is not used after it expired.
///
/// # Errors
/// The database cannot be read.
pub async fn resume_approved(pipeline: &Arc<Pipeline>) -> Result<(), StoreError> {
    let mut after = None;
    loop {
        let page = pipeline.store.approved_and_unused(after).await?;
        let Some(last) = page.last() else { return Ok(()) };
        after = Some(last.id);
        for approval in page {
            let task = Arc::clone(pipeline);
            pipeline.tasks.calls.spawn(async move {
                if let Err(error) = resume(&task, &approval).await {
                    tracing::error!(call = %approval.call, %error, "an approved call could not be taken up again");
                }
            });
        }
    }
}

async fn resume(pipeline: &Arc<Pipeline>, approval: &ApprovalRow) -> Result<(), StoreError> {
    wait_for(pipeline, approval.device.0).await;
    if pipeline.tasks.shutdown.is_cancelled() {
        return Ok(());
    }
    if approval.expires_at <= now_ms() {
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "The approval expired while the backend was stopped. The call did not run.",
        )
        .hint("run it again to request approval");
        return close_asked(pipeline, approval, error).await;
    }
    run_approved(pipeline, approval, None).await.map(drop)
}

/// Waits until the device is connected, at most [`RECONNECT_TIMEOUT`].
async fn wait_for(pipeline: &Pipeline, device: DeviceId) {
    let mut changes = pipeline.bus.watch_device(device);
    let deadline = tokio::time::Instant::now() + RECONNECT_TIMEOUT;
    while !pipeline.fleet.is_online(device) {
        tokio::select! {
            () = pipeline.tasks.shutdown.cancelled() => return,
            () = tokio::time::sleep_until(deadline) => return,
            () = changes.changed() => {}
        }
    }
}
