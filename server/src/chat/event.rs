//! What whoever watches a chat is shown.

use orion_domain::extract::ExtractedCall;
use orion_domain::{CallId, CallState, ConversationId, ErrorCode};

use crate::pipeline::CallView;
use crate::store::ApprovalRow;

/// What happens in a chat, for whoever watches.
#[derive(Debug)]
pub enum Event {
    /// The first event.
    Began {
        /// Which chat.
        conversation: ConversationId,
        /// Which model answers.
        model: String,
    },
    /// More of the model's words.
    Text(String),
    /// The model makes a call.
    CallBegan {
        /// The call.
        call: CallId,
        /// As the model wrote it.
        written: ExtractedCall,
        /// Whether it stands in content that strangers may have written.
        quoted: bool,
    },
    /// A person is asked.
    ApprovalNeeded(Box<ApprovalRow>),
    /// A call ended.
    CallEnded(Box<CallView>),
    /// Something the person should know that the model did not say.
    Note(String),
    /// The last event.
    Done {
        /// The whole answer.
        text: String,
        /// The calls that were made, in order.
        calls: Vec<ToolUse>,
    },
}

/// A call that was made for an answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolUse {
    /// The call.
    pub call: CallId,
    /// The tool.
    pub tool: String,
    /// The device, where one was found.
    pub device: String,
    /// How it ended.
    pub state: CallState,
    /// The code it ended with; none on success.
    pub code: Option<ErrorCode>,
}
