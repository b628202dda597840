//! A person's answer to an approval request: whether it counts, and what follows from it.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{Caller, ErrorCode, ToolError};
use serde_json::{Map, Value, json};

use super::{approved, change, standing};
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::effective_policy::refresh;
use crate::pipeline::Pipeline;
use crate::pipeline::route::DispatchSlot;
use crate::pipeline::view::CallView;
use crate::store::{ApprovalRow, ApprovalScope, ApprovalState, DecideError, NewVote, StoreError};

/// The maximum length of a stored reason, in characters.
const MAX_REASON_CHARS: usize = 1000;

/// How long an answer that makes a rule waits until the rule is active.
const RULE_TIMEOUT: Duration = Duration::from_secs(5);

/// A person's answer.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalAnswer {
    /// Approves the call, for this scope.
    Yes(AnswerScope),
    /// Denies the call.
    No,
    /// Replaces the call by one of the same tool with these arguments.
    Change(Map<String, Value>),
}

/// What an approval covers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerScope {
    /// This call only.
    Once,
    /// This person's calls of this tool on this device, from this chat.
    Chat,
    /// This person's calls of this tool on these paths of this device.
    Rule {
        /// Unix milliseconds.
        expires_at: i64,
        /// Whether the rule covers the folders of the paths, and not only the paths.
        folder: bool,
    },
}

/// The result of an answer.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerResult {
    /// The approval request; still open if more people have to approve.
    pub row: ApprovalRow,
    /// The call that is made instead. None unless the answer changed the call.
    pub changed: Option<CallView>,
}

/// Why an answer does not count.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnswerError {
    /// Several ids have this prefix.
    #[error("several approvals begin so; give more of the id")]
    Ambiguous,
    /// The answer would make a rule that a policy file could not have.
    #[error("no rule was made of this answer, and the approval request is still open: {0}")]
    Rule(String),
    /// The changed call cannot be made.
    #[error("the changed call was not made, and the approval request is still open: {}", .0.message)]
    Changed(Box<ToolError>),
    /// The vote does not count.
    #[error(transparent)]
    Vote(#[from] DecideError),
}

impl AnswerError {
    /// The answer, or what follows from it, could not be stored.
    pub(super) const fn unstored(error: StoreError) -> Self {
        Self::Vote(DecideError::Store(error))
    }
}

impl From<StoreError> for AnswerError {
    /// Converts an error of looking up the approval request.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound => Self::Vote(DecideError::NotFound),
            StoreError::Conflict => Self::Ambiguous,
            StoreError::KeyInUse
            | StoreError::Unavailable
            | StoreError::Full
            | StoreError::OtherVersion
            | StoreError::Corrupt => Self::unstored(error),
        }
    }
}

/// Applies a person's answer. When enough people have approved, the call starts in the background. The work
/// continues if the person disconnects.
///
/// # Errors
/// See [`AnswerError`].
pub async fn decide(
    pipeline: &Arc<Pipeline>,
    by: &Caller,
    approval: &str,
    answer: ApprovalAnswer,
    reason: &str,
) -> Result<AnswerResult, AnswerError> {
    let row = pipeline.store.approval(approval).await?;
    let reason: String = reason.chars().take(MAX_REASON_CHARS).collect();
    let (shared, by) = (Arc::clone(pipeline), by.clone());
    let task =
        pipeline.tasks.calls.spawn(async move { take(&shared, &by, row, answer, reason).await });
    task.await.unwrap_or(Err(AnswerError::unstored(StoreError::Unavailable)))
}

async fn take(
    pipeline: &Arc<Pipeline>,
    by: &Caller,
    row: ApprovalRow,
    answer: ApprovalAnswer,
    reason: String,
) -> Result<AnswerResult, AnswerError> {
    if let Some(plan) = row.plan {
        return Err(DecideError::PartOfPlan(plan).into());
    }
    let (yes, lasting) = match answer {
        ApprovalAnswer::No => (false, ApprovalScope::Once),
        ApprovalAnswer::Yes(AnswerScope::Once) => (true, ApprovalScope::Once),
        ApprovalAnswer::Yes(AnswerScope::Chat) => (true, standing::for_chat(&row)?),
        ApprovalAnswer::Yes(AnswerScope::Rule { expires_at, folder }) => {
            (true, standing::as_rule(pipeline, &row, by, expires_at, folder)?)
        }
        ApprovalAnswer::Change(arguments) => {
            return change::change(pipeline, by, row, arguments, reason).await;
        }
    };
    let is_rule = matches!(lasting, ApprovalScope::AsRule(_));
    let decided = vote(pipeline, by, &row, yes, reason.clone(), lasting).await?;
    match decided.state {
        ApprovalState::Approved if is_rule => start_with_rule(pipeline, decided.clone()).await,
        ApprovalState::Approved => start(pipeline, decided.clone(), None),
        ApprovalState::Denied => {
            let message = format!("{} did not approve this call: {reason}", by.user);
            let error = ToolError::new(
                ErrorCode::ApprovalRejected,
                message.trim_end_matches([':', ' ']).to_owned(),
            );
            approved::close_asked(pipeline, &decided, error)
                .await
                .map_err(AnswerError::unstored)?;
        }
        ApprovalState::Open | ApprovalState::Expired | ApprovalState::Withdrawn => {}
    }
    Ok(AnswerResult { row: decided, changed: None })
}

/// Counts and stores a person's vote.
pub(super) async fn vote(
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
        Err(refused) => refused,
    };
    if matches!(refused, DecideError::Role { .. } | DecideError::OwnCall(_)) {
        record_refused(pipeline, by, row).await?;
    }
    Err(refused.into())
}

/// Records in the audit log that a person tried to approve without being allowed to.
pub(super) async fn record_refused(
    pipeline: &Pipeline,
    by: &Caller,
    row: &ApprovalRow,
) -> Result<(), AnswerError> {
    let body = json!({"approval_id": row.id, "by": by.user, "role": by.role});
    let recorded = pipeline.store.audit_call_event("approval.refused", row.call, body, now_ms());
    recorded.await.map_err(AnswerError::unstored)
}

/// Starts an approved call, in the slot of its device if it has one.
fn start(pipeline: &Arc<Pipeline>, row: ApprovalRow, slot: Option<DispatchSlot>) {
    let task = Arc::clone(pipeline);
    pipeline.tasks.calls.spawn(async move {
        if let Err(error) = approved::run_approved(&task, &row, slot).await {
            tracing::error!(call = %row.call, %error, "an approved call could not be recorded");
        }
    });
}

/// Starts the call, then activates the rule that the answer made. The approval is bound to the current
/// policy version and the rule makes a new one: the rule becomes active once the call was sent, or cannot
/// be. The caller waits for that up to [`RULE_TIMEOUT`], so that the next call needs no approval. If the
/// device has no free slot for longer, the rule becomes active later.
async fn start_with_rule(pipeline: &Arc<Pipeline>, row: ApprovalRow) {
    let (task, device) = (Arc::clone(pipeline), row.device.0);
    let activating = pipeline.tasks.calls.spawn(async move {
        let sent = match DispatchSlot::wait_for(&task, device, &row.requester).await {
            Some(slot) => {
                let (slot, sent) = slot.with_delivery_report();
                start(&task, row.clone(), Some(slot));
                Some(sent)
            }
            None => {
                start(&task, row.clone(), None);
                None
            }
        };
        if let Some(sent) = sent {
            // If the call is not sent, its slot is dropped, which resolves `sent` as well.
            let _ = sent.await;
        }
        if let Err(error) = refresh(&task.devices, device).await {
            tracing::error!(approval = %row.id, %error, "a rule that was made of an answer could not be activated");
        }
    });
    if tokio::time::timeout(RULE_TIMEOUT, activating).await.is_err() {
        tracing::warn!(device = %device, "a rule that was made of an answer waits until its call is sent");
    }
}
