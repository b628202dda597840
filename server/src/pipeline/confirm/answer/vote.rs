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
use crate::webauthn::PasskeyProof;

/// What a person says of a request.
#[derive(Debug)]
pub(in crate::pipeline::confirm) struct Ballot {
    /// Whether the person approves.
    pub(in crate::pipeline::confirm) yes: bool,
    /// The person's reason. Empty if none was given.
    pub(in crate::pipeline::confirm) reason: String,
    /// The scope of an approval. `Once` for a denial.
    pub(in crate::pipeline::confirm) lasting: ApprovalScope,
    /// Whether the person's client showed the whole card. None where it does not say.
    pub(in crate::pipeline::confirm) details_shown: Option<bool>,
    /// What the person signed. None without a passkey.
    pub(in crate::pipeline::confirm) passkey: Option<PasskeyProof>,
}

impl Ballot {
    /// A vote on one call, by a client that does not say what it showed.
    pub(in crate::pipeline::confirm) const fn once(yes: bool, reason: String) -> Self {
        Self { yes, reason, lasting: ApprovalScope::Once, details_shown: None, passkey: None }
    }
}

/// Counts and stores a person's vote.
pub(in crate::pipeline::confirm) async fn vote(
    pipeline: &Pipeline,
    by: &Caller,
    row: &ApprovalRow,
    ballot: Ballot,
) -> Result<ApprovalRow, AnswerError> {
    let Ballot { yes, reason, lasting, details_shown, passkey } = ballot;
    let vote = NewVote {
        approval: row.id,
        by: by.user.clone(),
        role: by.role,
        yes,
        reason,
        lasting,
        at: now_ms(),
        habit: VoteHabit { details_shown, budget: budget(pipeline) },
        passkey,
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
        DecideError::Role { .. }
            | DecideError::OwnCall(_)
            | DecideError::OverBudget(_)
            | DecideError::PasskeyMissing
            | DecideError::OtherSigned
            | DecideError::PasskeyGone
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
