//! `[chat]`: the limits of the chat loop.

use serde::{Deserialize, Serialize};

/// `[chat]`
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Chat {
    /// The most rounds of tool calls in one answer of a model.
    pub max_tool_rounds: u32,
    /// The most bytes of one result that the model is shown.
    pub result_limit: usize,
    /// Whether the model is offered tools at all.
    pub tools_enabled: bool,
    /// The text before everything else that the model gets.
    pub system_prompt: String,
    /// Whether the person's memories that match a message are put into the context.
    pub recall: bool,
}

impl Default for Chat {
    fn default() -> Self {
        Self {
            max_tool_rounds: 10,
            result_limit: 4096,
            tools_enabled: true,
            system_prompt: String::new(),
            recall: false,
        }
    }
}
