//! Counts and stores a person's vote on an approval request. Votes that are refused are recorded in the audit
//! log.

use orion_domain::Caller;
use serde_json::json;

use super::error::AnswerError;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::pipeline::Pipeline;
use crate::pipeline::confirm::habits::budget;
use crate::store::{ApprovalRow, ApprovalScope, DecideError, NewVote, VoteHabit};

/// Counts and stores a person's vote.
pub(in crate::pipeline::confirm) async fn vote(
    pipeline: &Pipeline,
    by: &Caller,
    row: &ApprovalRow,
    yes: bool,
    reason: String,
    lasting: ApprovalScope,
    details_shown: Option<bool>,
) -> Result<ApprovalRow, AnswerError> {
    let vote = NewVote {
        approval: row.id,
        by: by.user.clone(),
        role: by.role,
        yes,
        reason,
        lasting,
        at: now_ms(),
        habit: VoteHabit { details_shown, budget: budget(pipeline) },
    };
    let refused = match pipeline.store.vote(vote).await {
        Ok(decided) => {
            pipeline.bus.publish(Change::Approval(decided.id, decided.call));
            return Ok(decided);
        }
        Err(refused) => refused,
    };
    if matches!(
        refused,
        DecideError::Role { .. } | DecideError::OwnCall(_) | DecideError::OverBudget(_)
    ) {
        record_refused(pipeline, by, row).await?;
    }
    Err(refused.into())
}

/// Records in the audit log that a person tried to approve without being allowed to.
pub(in crate::pipeline::confirm) async fn record_refused(
    pipeline: &Pipeline,
    by: &Caller,
    row: &ApprovalRow,
) -> Result<(), AnswerError> {
    let body = json!({"approval_id": row.id, "by": by.user, "role": by.role});
    let recorded = pipeline.store.audit_call_event("approval.refused", row.call, body, now_ms());
    recorded.await.map_err(AnswerError::unstored)
}
