//! A person's answer to an approval request: whether it counts, and what follows from it.

mod error;
mod start;
mod vote;

use std::sync::Arc;

use orion_domain::{Caller, ErrorCode, ToolError};
use serde_json::{Map, Value};

use super::{approved, change, standing};
use crate::pipeline::Pipeline;
use crate::pipeline::view::CallView;
use crate::store::{ApprovalRow, ApprovalScope, ApprovalState, DecideError, StoreError};
use crate::webauthn::PasskeyProof;

pub use error::AnswerError;
use start::{start, start_with_rule};
pub(super) use vote::{Ballot, record_refused, vote};

/// The maximum length of a stored reason, in characters.
const MAX_REASON_CHARS: usize = 1000;

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
#[derive(Debug, Clone, PartialEq, Eq)]
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
        /// The paths that the person was shown as covered; empty if none were shown.
        shown: Vec<String>,
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

/// Applies a person's answer. `details_shown` is whether their client showed the whole card, `passkey` what they signed.
/// When enough people have approved, the call starts in the background. The work continues if the person disconnects.
///
/// # Errors
/// See [`AnswerError`].
pub async fn decide(
    pipeline: &Arc<Pipeline>,
    by: &Caller,
    approval: &str,
    answer: ApprovalAnswer,
    reason: &str,
    details_shown: Option<bool>,
    passkey: Option<PasskeyProof>,
) -> Result<AnswerResult, AnswerError> {
    let row = pipeline.store.find_approval(approval).await?;
    let reason: String = reason.chars().take(MAX_REASON_CHARS).collect();
    let (shared, by) = (Arc::clone(pipeline), by.clone());
    let task = pipeline.tasks.calls.spawn(async move {
        take(&shared, &by, row, answer, reason, (details_shown, passkey)).await
    });
    task.await.unwrap_or(Err(AnswerError::unstored(StoreError::Unavailable)))
}

async fn take(
    pipeline: &Arc<Pipeline>,
    by: &Caller,
    row: ApprovalRow,
    answer: ApprovalAnswer,
    reason: String,
    (details_shown, passkey): (Option<bool>, Option<PasskeyProof>),
) -> Result<AnswerResult, AnswerError> {
    if let Some(plan) = row.plan {
        return Err(DecideError::PartOfPlan(plan).into());
    }
    let (yes, lasting) = match answer {
        ApprovalAnswer::No => (false, ApprovalScope::Once),
        ApprovalAnswer::Yes(AnswerScope::Once) => (true, ApprovalScope::Once),
        ApprovalAnswer::Yes(AnswerScope::Chat) => (true, standing::for_chat(&row)?),
        ApprovalAnswer::Yes(AnswerScope::Rule { expires_at, folder, shown }) => {
            let made = standing::rule(pipeline, &row, by, expires_at, folder).await?;
            if !shown.is_empty() && shown != made.rule.paths {
                return Err(DecideError::OtherPaths.into());
            }
            (true, ApprovalScope::AsRule(Box::new(made)))
        }
        ApprovalAnswer::Change(arguments) => {
            return change::change(pipeline, by, row, arguments, reason).await;
        }
    };
    if yes && pipeline.store.approver_refusal(&row, by).await?.is_none() {
        if row.state == ApprovalState::Open
            && let Some(error) = approved::quarantined(pipeline, &row)
        {
            return Err(AnswerError::Held(Box::new(error)));
        }
        if let Some(error) = approved::end_if_outdated(pipeline, &row).await? {
            return Err(AnswerError::Outdated(Box::new(error)));
        }
    }
    let is_rule = matches!(lasting, ApprovalScope::AsRule(_));
    let ballot = Ballot { yes, reason: reason.clone(), lasting, details_shown, passkey };
    let decided = vote(pipeline, by, &row, ballot).await?;
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
