//! Why an answer to an approval request does not count.

use orion_domain::{PlanId, Risk, Role, ToolError};

use crate::store::{ApprovalState, MOST_ON_DEVICE, StoreError};

/// Why an answer does not count.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnswerError {
    /// No approval request has this id.
    #[error("there is no such approval")]
    NotFound,
    /// Several ids have this prefix.
    #[error("several approvals have an id that begins like this")]
    Ambiguous,
    /// The request was decided before; an approval is used once.
    #[error("this approval is {} already. An approval counts once, for one call", .0.as_str())]
    AlreadyDecided(ApprovalState),
    /// The request has expired.
    #[error("this approval has expired")]
    Expired,
    /// The same person has approved before.
    #[error("you approved this already. Another person must approve it too")]
    AlreadyVoted,
    /// The person's role is too low.
    #[error("a call of {risk} risk needs the role {needed} to approve it")]
    Role {
        /// The risk of the call.
        risk: Risk,
        /// The role that may approve it.
        needed: Role,
    },
    /// The person requested or wrote the call.
    #[error(
        "you requested this call or wrote it yourself, so another person with the role {0} must approve it"
    )]
    OwnCall(Role),
    /// A reason is required.
    #[error("this approval needs a reason")]
    ReasonMissing,
    /// The approval may not cover more than this call.
    #[error("this approval can be given only once, for this call: {0}")]
    OnlyOnce(&'static str),
    /// The answer would make a rule that a policy file could not have.
    #[error("no rule was made of this answer, and the approval request is still open: {0}")]
    Rule(String),
    /// The device has the maximum number of rules made by answers.
    #[error(
        "no rule was made of this answer, and the approval request is still open: {MOST_ON_DEVICE} rules of answers hold on this device, which is as many as may"
    )]
    TooManyRules,
    /// The request is decided with its plan.
    #[error("this call is a step of the plan {0}, which is decided as a whole")]
    PartOfPlan(PlanId),
    /// The changed call cannot be made.
    #[error("the changed call was not made, and the approval request is still open: {}", .0.message)]
    Changed(Box<ToolError>),
    /// The answer, or what follows from it, could not be stored.
    #[error("the database could not be written")]
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
