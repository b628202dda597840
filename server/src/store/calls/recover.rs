//! Closes the calls that a crashed backend left open.

use orion_domain::{CallState, Envelope, ErrorCode, Meta, ToolError};

use super::close::close;
use super::{CallRow, CloseCall};
use crate::store::db::{Durability, FromRow as _, Tx, sql};
use crate::store::{Store, StoreError};

/// How many calls are closed in one transaction.
const PAGE: usize = 200;

/// Selects the calls that cannot go on, with the state of their approval requests.
const LOST: &str = "SELECT calls.*, approvals.state AS answer, approvals.consumed_at AS used_at \
    FROM calls LEFT JOIN approvals ON approvals.id = calls.approval_id \
    WHERE calls.closed_at IS NULL AND (calls.state IN ('received', 'dispatched', 'running') \
    OR (calls.state IN ('awaiting_approval', 'queued') \
    AND (approvals.state NOT IN ('open', 'approved') \
    OR approvals.consumed_at IS NOT NULL))) ORDER BY +calls.id LIMIT 200";

impl Store {
    /// Closes the calls that a crashed backend had in flight, and returns their number. A call that was
    /// sent becomes `unknown` if it has effects, else `failed`; one that was never sent becomes `failed`.
    /// Calls that wait for a person or a device stay open, unless the approval was denied, expired,
    /// withdrawn or used.
    ///
    /// Call it once, before the first call is accepted.
    ///
    /// # Errors
    /// The database cannot be written; calls that were closed before stay closed.
    pub async fn recover_open_calls(&self, now: i64) -> Result<usize, StoreError> {
        let mut recovered = 0;
        loop {
            let page = self
                .write(Durability::Fsync, move |tx| Box::pin(async move { page(tx, now).await }))
                .await?;
            recovered += page;
            if page < PAGE {
                return Ok(recovered);
            }
        }
    }
}

async fn page(tx: &mut Tx, now: i64) -> Result<usize, StoreError> {
    let rows = tx.rows(sql(LOST)).await?;
    let found = rows.len();
    for row in rows {
        let answer: Option<String> = row.get("answer")?;
        let call = CallRow::from_row(&row)?;
        let error = lost(&call, answer.as_deref());
        let (state, code) = (error.code.final_state(), error.code);
        let meta = Meta {
            call_id: call.id.to_string(),
            device: call.device.as_ref().map(|(_, name)| name.to_string()).unwrap_or_default(),
            tool: call.tool.clone(),
            ..Meta::default()
        };
        let envelope = Envelope::failure(error, call.dry_run, meta);
        let end = CloseCall {
            id: call.id,
            state,
            code: Some(code),
            result: serde_json::to_vec(&envelope).map_err(|_| StoreError::Corrupt)?,
            duration_us: 0,
            at: now,
            witness: None,
        };
        // A call that cannot be closed would come up on the next page again, without end.
        close(tx, end).await?.ok_or(StoreError::Corrupt)?;
    }
    Ok(found)
}

fn lost(call: &CallRow, answer: Option<&str>) -> ToolError {
    let was_sent = matches!(call.state, CallState::Dispatched | CallState::Running);
    match answer {
        Some("denied") if !was_sent => {
            ToolError::new(ErrorCode::ApprovalRejected, "A person did not approve this call.")
        }
        Some("expired" | "withdrawn") if !was_sent => ToolError::new(
            ErrorCode::ApprovalExpired,
            "The approval request expired. The call did not run.",
        )
        .hint("run it again to request approval"),
        _ if was_sent && call.has_effects => ToolError::new(
            ErrorCode::OutcomeUnknown,
            "The backend stopped while this call ran. When the device is back it reports what happened, and the call is updated.",
        ),
        _ => ToolError::new(ErrorCode::Internal, "The backend stopped before this call had ended.")
            .hint("make the call again"),
    }
}
