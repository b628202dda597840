//! A person's answer to a question: whether it counts, and what follows from it.

use std::sync::Arc;
use std::time::Duration;

use orion_domain::{Caller, ErrorCode, PlanId, Risk, Role, ToolError};
use serde_json::{Map, Value, json};

use super::{change, run, standing};
use crate::backend::Backend;
use crate::bus::Change;
use crate::clock::now_ms;
use crate::fleet::enrollment;
use crate::pipeline::CallView;
use crate::pipeline::route::DispatchSlot;
use crate::store::{
    ApprovalRow, ApprovalScope, ApprovalState, DecideError, MOST_ON_DEVICE, NewVote, StoreError,
};

/// The longest reason that is kept, in characters.
const REASON: usize = 1000;

/// How long an answer that makes a rule waits for the rule to be active.
const RULE_TIMEOUT: Duration = Duration::from_secs(5);

/// What a person says.
#[derive(Debug, Clone, PartialEq)]
pub enum ApprovalAnswer {
    /// Yes, this far.
    Yes(AnswerScope),
    /// No.
    No,
    /// Not this, but the same tool with these arguments.
    Change(Map<String, Value>),
}

/// How far a yes reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AnswerScope {
    /// This call.
    Once,
    /// This person's calls of this tool on this device from this chat.
    Chat,
    /// This person's calls of this tool on these paths of this device.
    Rule {
        /// Until when, Unix milliseconds.
        expires_at: i64,
        /// On the folders that hold the paths.
        folder: bool,
    },
}

/// What became of a question.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerResult {
    /// The question; still open where more have to say yes.
    pub row: ApprovalRow,
    /// The call that is made instead.
    pub changed: Option<CallView>,
}

/// Why an answer to a question does not count.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnswerError {
    /// There is no such question.
    #[error("there is no such approval; `orion approvals list` shows the open ones")]
    NotFound,
    /// A shortened id that fits several.
    #[error("several approvals begin so; give more of the id")]
    Ambiguous,
    /// It was answered before; an approval is used once.
    #[error("this approval is {} already; an approval counts once, for one call", .0.as_str())]
    AlreadyDecided(ApprovalState),
    /// It ran out.
    #[error("this approval has expired; make the call again to be asked again")]
    Expired,
    /// The same person said yes before.
    #[error("you have said yes to this before; somebody else has to say yes as well")]
    AlreadyVoted,
    /// The role is too small.
    #[error("a call of {risk} risk needs the role {needed} to approve it")]
    Role {
        /// How risky the call is.
        risk: Risk,
        /// Who may say yes.
        needed: Role,
    },
    /// It is their own call.
    #[error(
        "you asked for this call or wrote it yourself, and somebody else with the role {0} has to approve it"
    )]
    OwnCall(Role),
    /// A reason is wanted.
    #[error("this approval needs a reason: say why, with `--reason`")]
    ReasonMissing,
    /// The answer may not reach beyond this call.
    #[error("this approval can be given only once, for this call: {0}")]
    OnlyOnce(&'static str),
    /// The answer would make a rule that a policy file could not have.
    #[error("no rule was made of this answer, and the question still stands: {0}")]
    Rule(String),
    /// As many rules of answers hold on the device as may.
    #[error(
        "no rule was made of this answer, and the question still stands: {MOST_ON_DEVICE} rules of answers hold on this device, which is as many as may; `orion approvals rules revoke` ends those that are not needed"
    )]
    TooManyRules,
    /// It is answered with its plan.
    #[error(
        "this call is a step of the plan {0}, which is answered as a whole: `orion plan show {0}`"
    )]
    PartOfPlan(PlanId),
    /// The changed call is none that can be made.
    #[error("the changed call was not made, and the question still stands: {}", .0.message)]
    Changed(Box<ToolError>),
    /// The record cannot be kept, of the answer or of what follows from it.
    #[error(
        "the record could not be written; `orion approvals list --all` shows whether the answer counts"
    )]
    Store,
}

impl From<StoreError> for AnswerError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound => Self::NotFound,
            StoreError::Conflict => Self::Ambiguous,
            StoreError::KeyInUse
            | StoreError::Unavailable
            | StoreError::Full
            | StoreError::OtherVersion
            | StoreError::Corrupt => Self::Store,
        }
    }
}

/// Takes a person's answer. When enough have said yes the call starts, and goes on by itself; what
/// was begun is done when the one who answers goes away.
///
/// # Errors
/// See [`Unanswered`].
pub async fn decide(
    backend: &Arc<Backend>,
    by: &Caller,
    approval: &str,
    answer: ApprovalAnswer,
    reason: &str,
) -> Result<AnswerResult, AnswerError> {
    let row = backend.store.approval(approval).await?;
    let reason: String = reason.chars().take(REASON).collect();
    let (shared, by) = (Arc::clone(backend), by.clone());
    let task = backend.calls.spawn(async move { take(&shared, &by, row, answer, reason).await });
    task.await.unwrap_or(Err(AnswerError::Store))
}

async fn take(
    backend: &Arc<Backend>,
    by: &Caller,
    row: ApprovalRow,
    answer: ApprovalAnswer,
    reason: String,
) -> Result<AnswerResult, AnswerError> {
    if let Some(plan) = row.plan {
        return Err(AnswerError::PartOfPlan(plan));
    }
    let (yes, lasting) = match answer {
        ApprovalAnswer::No => (false, ApprovalScope::Once),
        ApprovalAnswer::Yes(AnswerScope::Once) => (true, ApprovalScope::Once),
        ApprovalAnswer::Yes(AnswerScope::Chat) => (true, standing::for_chat(&row)?),
        ApprovalAnswer::Yes(AnswerScope::Rule { expires_at, folder }) => {
            (true, standing::as_rule(backend, &row, by, expires_at, folder)?)
        }
        ApprovalAnswer::Change(arguments) => {
            return change::change(backend, by, row, arguments, reason).await;
        }
    };
    let is_rule = matches!(lasting, ApprovalScope::AsRule(_));
    let decided = vote(backend, by, &row, yes, reason.clone(), lasting).await?;
    match decided.state {
        ApprovalState::Approved if is_rule => start_with_rule(backend, decided.clone()).await,
        ApprovalState::Approved => start(backend, decided.clone(), None),
        ApprovalState::Denied => {
            let message = format!("{} did not approve this call: {reason}", by.user);
            let error = ToolError::new(
                ErrorCode::ApprovalRejected,
                message.trim_end_matches([':', ' ']).to_owned(),
            );
            run::close_asked(backend, &decided, error).await.map_err(|_| AnswerError::Store)?;
        }
        ApprovalState::Open | ApprovalState::Expired | ApprovalState::Withdrawn => {}
    }
    Ok(AnswerResult { row: decided, changed: None })
}

/// Has a person's word counted and recorded.
pub(super) async fn vote(
    backend: &Backend,
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
    let refused = match backend.store.vote(vote).await {
        Ok(decided) => {
            backend.bus.publish(Change::Approval(decided.id, decided.call));
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
    record_refused(backend, by, row).await?;
    Err(refused)
}

/// Records that somebody tried to say yes who may not.
pub(super) async fn record_refused(
    backend: &Backend,
    by: &Caller,
    row: &ApprovalRow,
) -> Result<(), AnswerError> {
    let body = json!({"approval_id": row.id, "by": by.user, "role": by.role});
    let recorded = backend.store.audit_call_event("approval.refused", row.call, body, now_ms());
    recorded.await.map_err(|_| AnswerError::Store)
}

/// Why an answer may not reach beyond its call.
const ONLY_ONCE: &str = "its risk is critical, a preview or several people are wanted, a reason is, or content from strangers is in the chat";

/// Starts a call that enough people said yes to, on its way to the device where it has one.
fn start(backend: &Arc<Backend>, row: ApprovalRow, way: Option<DispatchSlot>) {
    let task = Arc::clone(backend);
    backend.calls.spawn(async move {
        if let Err(error) = run::run_approved(&task, &row, way).await {
            tracing::error!(call = %row.call, %error, "an approved call could not be recorded");
        }
    });
}

/// The same where the answer makes a rule. The rule makes another version of the policy and the answer is
/// to this one, so it is active from the moment on at which the call was sent, or cannot be. It is
/// active when the answer is taken, so that the very next call is not asked about; where the device has
/// no room for the call for so long, the rule follows it.
async fn start_with_rule(backend: &Arc<Backend>, row: ApprovalRow) {
    let (task, device) = (Arc::clone(backend), row.device.0);
    let activating = backend.calls.spawn(async move {
        let sent = match DispatchSlot::wait_for(&task, device, &row.requester).await {
            Some(way) => {
                let (way, sent) = way.with_delivery_report();
                start(&task, row.clone(), Some(way));
                Some(sent)
            }
            None => {
                start(&task, row.clone(), None);
                None
            }
        };
        if let Some(sent) = sent {
            // A call that is not sent drops its way, which is as good to know.
            let _ = sent.await;
        }
        if let Err(error) = enrollment::refresh(&task, device).await {
            tracing::error!(approval = %row.id, %error, "a rule that was made of an answer could not be activated");
        }
    });
    if tokio::time::timeout(RULE_TIMEOUT, activating).await.is_err() {
        tracing::warn!(device = %device, "a rule that was made of an answer waits until its call is sent");
    }
}
