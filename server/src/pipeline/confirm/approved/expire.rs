//! Ends approval requests that nobody answered in time, and the calls of requests.

use orion_domain::{ErrorCode, Hint, ToolError};

use crate::bus::Change;
use crate::pipeline::view::CallView;
use crate::pipeline::{Pipeline, audit};
use crate::store::{ApprovalRow, StoreError};

/// Expires the approval requests whose time is over, and ends their calls.
///
/// # Errors
/// The database cannot be written.
pub async fn expire(pipeline: &Pipeline, now_ms: i64) -> Result<usize, StoreError> {
    let expired = pipeline.store.expire_approvals(now_ms).await?;
    let count = expired.len();
    for approval in expired {
        pipeline.bus.publish(Change::Approval(approval.id, approval.call));
        let error = ToolError::new(
            ErrorCode::ApprovalExpired,
            "The approval request expired. The call did not run.",
        )
        .hint("run it again to request approval")
        .hint(Hint::run("watch requests as they arrive", "orion approvals watch"));
        // A call that cannot be ended must not block the others; a restart ends it.
        if let Err(error) = close_asked(pipeline, &approval, error).await {
            tracing::error!(call = %approval.call, %error, "a call whose question ran out could not be ended");
        }
    }
    Ok(count)
}

/// Ends the call of an approval request.
///
/// # Errors
/// The database cannot be written.
pub(in crate::pipeline::confirm) async fn close_asked(
    pipeline: &Pipeline,
    approval: &ApprovalRow,
    error: ToolError,
) -> Result<(), StoreError> {
    let row = pipeline.store.call(approval.call).await?;
    audit::close(pipeline, CallView::from(row), error).await.map(drop)
}
