//! Ends the calls that have waited for their device too long.

use orion_domain::{ErrorCode, ToolError};

use crate::clock::now_ms;
use crate::pipeline::view::CallView;
use crate::pipeline::{Pipeline, audit};
use crate::store::{CallRow, StoreError};

/// Ends the calls that have waited for their device too long, and those whose approval has expired. Returns
/// how many were read; there may be more.
///
/// # Errors
/// The database cannot be read or written.
pub async fn expire(pipeline: &Pipeline, now_ms: i64) -> Result<usize, StoreError> {
    let overdue = pipeline.store.overdue_calls(now_ms).await?;
    let found = overdue.len();
    for row in overdue {
        // A call that is being sent checks its own deadline.
        if let Some(_delivery) = pipeline.fleet.delivery(row.id) {
            end_overdue(pipeline, row).await?;
        }
    }
    Ok(found)
}

pub(super) async fn end_overdue(pipeline: &Pipeline, row: CallRow) -> Result<(), StoreError> {
    let error = if row.queued_until.unwrap_or(row.deadline_at) <= now_ms() {
        let name = row.device.as_ref().map(|(_, name)| name.to_string()).unwrap_or_default();
        let message =
            format!("{name} was not connected before the queue time ended. The call did not run.");
        ToolError::new(ErrorCode::Timeout, message)
    } else {
        ToolError::new(
            ErrorCode::ApprovalExpired,
            "The approval expired before the device was connected. The call did not run.",
        )
        .hint("run it again to request approval")
    };
    audit::close_unsent(pipeline, &CallView::from(row), error).await.map(drop)
}
