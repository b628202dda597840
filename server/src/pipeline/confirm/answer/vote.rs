//! Counts and stores a person's vote on an approval request. Votes that are refused are recorded in the audit
//! log.

use orion_domain::Caller;
use serde_json::json;

use super::error::AnswerError;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::pipeline::Pipeline;
use crate::store::{ApprovalRow, ApprovalScope, DecideError, NewVote};

/// Why an approval may not cover more than its call.
const ONLY_ONCE: &str = "its risk is critical, a preview or several people are wanted, a reason is, or untrusted content is in the chat";

/// Counts and stores a person's vote.
pub(in crate::pipeline::confirm) async fn vote(
    pipeline: &Pipeline,
    by: &Caller,
    row: &ApprovalRow,
    yes: bool,
    reason: String,
    lasting: ApprovalScope,
) -> Result<ApprovalRow, AnswerError> {
    let vote = NewVote {
        approval: row.id,
        by: by.user.clone(),
        role: by.role,
        yes,
        reason,
        lasting,
        at: now_ms(),
    };
    let refused = match pipeline.store.vote(vote).await {
        Ok(decided) => {
            pipeline.bus.publish(Change::Approval(decided.id, decided.call));
            return Ok(decided);
        }
        Err(DecideError::NotFound) => return Err(AnswerError::NotFound),
        Err(DecideError::AlreadyDecided(state)) => return Err(AnswerError::AlreadyDecided(state)),
        Err(DecideError::Expired) => return Err(AnswerError::Expired),
        Err(DecideError::AlreadyVoted) => return Err(AnswerError::AlreadyVoted),
        Err(DecideError::ReasonMissing) => return Err(AnswerError::ReasonMissing),
        Err(DecideError::PartOfPlan(plan)) => return Err(AnswerError::PartOfPlan(plan)),
        Err(DecideError::OnlyOnce) => return Err(AnswerError::OnlyOnce(ONLY_ONCE)),
        Err(DecideError::TooManyRules) => return Err(AnswerError::TooManyRules),
        Err(DecideError::Store(_)) => return Err(AnswerError::Store),
        Err(DecideError::Role(needed)) => AnswerError::Role { risk: row.risk, needed },
        Err(DecideError::OwnCall(role)) => AnswerError::OwnCall(role),
    };
    record_refused(pipeline, by, row).await?;
    Err(refused)
}

/// Records in the audit log that a person tried to approve without being allowed to.
pub(in crate::pipeline::confirm) async fn record_refused(
    pipeline: &Pipeline,
    by: &Caller,
    row: &ApprovalRow,
) -> Result<(), AnswerError> {
    let body = json!({"approval_id": row.id, "by": by.user, "role": by.role});
    let recorded = pipeline.store.audit_call_event("approval.refused", row.call, body, now_ms());
    recorded.await.map_err(|_| AnswerError::Store)
}
