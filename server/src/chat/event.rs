//! The events of a chat, as clients receive them.

use orion_domain::extract::ExtractedCall;
use orion_domain::{CallId, CallState, ConversationId, ErrorCode, TurnId};

use crate::model::Usage;
use crate::pipeline::CallView;
use crate::store::ApprovalRow;

/// An event of a chat.
#[derive(Debug)]
pub enum Event {
    /// The first event.
    Began {
        /// The conversation's id.
        conversation: ConversationId,
        /// The turn's id.
        turn: TurnId,
        /// The name of the model that answers.
        model: String,
        /// Whether a language model may answer, and not the planner alone.
        is_language_model: bool,
    },
    /// More of the model's text.
    Text(String),
    /// The model makes a call.
    CallBegan {
        /// The call's id.
        call: CallId,
        /// The call as the model wrote it.
        written: ExtractedCall,
        /// Whether the call occurs in untrusted content.
        quoted: bool,
    },
    /// A call needs an approval.
    ApprovalNeeded(Box<ApprovalRow>),
    /// A call ended.
    CallEnded(Box<CallView>),
    /// A note to the person that is not from the model.
    Note(String),
    /// The last event.
    Done {
        /// The complete answer.
        text: String,
        /// The calls that were made, in order.
        calls: Vec<ToolUse>,
        /// Whether nothing was done because the planner did not understand the message, or asks for
        /// something that it lacks.
        not_understood: bool,
        /// What it used of language models, and what that cost in billionths of the currency. None where none
        /// answered.
        usage: Option<(Usage, u64)>,
    },
}

/// A call that was made during a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// The call's id.
    pub call: CallId,
    /// The tool's name.
    pub tool: String,
    /// The device's name; empty where none was found.
    pub device: String,
    /// The call's final state.
    pub state: CallState,
    /// The error code. None on success.
    pub code: Option<ErrorCode>,
}
