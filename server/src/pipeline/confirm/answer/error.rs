//! Why an answer to an approval request does not count.

use orion_domain::ToolError;

use crate::store::{DecideError, StoreError};

/// Why an answer does not count.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AnswerError {
    /// Several ids have this prefix.
    #[error("several approvals have an id that begins like this")]
    Ambiguous,
    /// The answer would make a rule that a policy file could not have.
    #[error("no rule was made of this answer, and the approval request is still open: {0}")]
    Rule(String),
    /// The changed call cannot be made.
    #[error("the changed call was not made, and the approval request is still open: {}", .0.message)]
    Changed(Box<ToolError>),
    /// The call can no longer run as it was shown, so its request has ended.
    #[error("nothing was approved, and the request has ended: {}", .0.message)]
    Outdated(Box<ToolError>),
    /// The device takes no calls now, and may again.
    #[error("nothing was approved, and the approval request is still open: {}", .0.message)]
    Held(Box<ToolError>),
    /// The vote does not count.
    #[error(transparent)]
    Vote(#[from] DecideError),
}

impl AnswerError {
    /// The answer, or what follows from it, could not be stored.
    pub(in crate::pipeline::confirm) const fn unstored(error: StoreError) -> Self {
        Self::Vote(DecideError::Store(error))
    }
}

impl From<StoreError> for AnswerError {
    /// Converts an error of looking up the approval request.
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::NotFound => Self::Vote(DecideError::NotFound),
            StoreError::Ambiguous => Self::Ambiguous,
            StoreError::Conflict
            | StoreError::KeyInUse
            | StoreError::Unavailable
            | StoreError::Full
            | StoreError::OtherVersion
            | StoreError::Corrupt => Self::unstored(error),
        }
    }
}
