//! Why a chat turn failed.

use crate::model::ModelError;
use crate::people::StreamEnd;
use crate::store::StoreError;

/// Why a chat turn failed.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// There is no model of that name.
    #[error("there is no model `{0}`")]
    NoModel(String),
    /// There is no assistant of that name.
    #[error("there is no assistant `{0}`")]
    NoAssistant(String),
    /// The newest turn of the conversation has its answer, so that nothing is left to go on with.
    #[error("the newest turn of this chat has its answer, so there is nothing to go on with")]
    NothingToResume,
    /// A limit of `[spending]` could be exceeded.
    #[error(
        "{what} has a limit of {limit} for models: {used} are used or reserved, and this request may need {more}"
    )]
    Spent {
        /// Whose limit it is.
        what: &'static str,
        /// The limit.
        limit: String,
        /// What is used or reserved.
        used: String,
        /// What the request may need.
        more: String,
    },
    /// The conversation does not exist, or is another person's.
    #[error("there is no such conversation of yours")]
    NoConversation,
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The store failed.
    #[error("the database could not be written")]
    Store(#[from] StoreError),
    /// The person disconnected.
    #[error("the conversation was left")]
    Left,
    /// The person's session or token is no longer valid, or their role changed.
    #[error("{}", match .0 {
        StreamEnd::SignedOut => "the session or token of this conversation is good no more",
        StreamEnd::RoleChanged => "the role of this conversation's person has changed",
    })]
    Ended(StreamEnd),
}
