//! Converts a conversation to the form of the Messages API, where both sides take turns.

use serde_json::{Value, json};

use crate::model::ToolDefinition;
use crate::model::remote::conversation::{Conversation, Turn};
use crate::model::remote::form::Wishes;

/// The longest answer where the section says nothing; the API requires a number.
const MAX_TOKENS: u32 = 8192;

/// Returns the body of a request.
pub(in crate::model::remote) fn body(conversation: &Conversation<'_>, wishes: Wishes<'_>) -> Value {
    let mut messages: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in &conversation.turns {
        let (role, blocks) = match turn {
            Turn::User(text) => ("user", text_block(text).into_iter().collect()),
            Turn::Model { text, calls, state, .. } => {
                // The thinking before a call is sent back unchanged, with its signature.
                let mut blocks: Vec<Value> =
                    state.iter().flat_map(|state| state.items.iter().cloned()).collect();
                blocks.extend(text_block(text));
                blocks.extend(calls.iter().map(|call| {
                    json!({"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments_value()})
                }));
                ("assistant", blocks)
            }
            Turn::Result { id, content, .. } => (
                "user",
                vec![json!({"type": "tool_result", "tool_use_id": id, "content": content})],
            ),
        };
        match messages.last_mut() {
            _ if blocks.is_empty() => {}
            Some((last, earlier)) if *last == role => earlier.extend(blocks),
            _ => messages.push((role, blocks)),
        }
    }
    let messages: Vec<Value> = messages
        .into_iter()
        .map(|(role, content)| json!({"role": role, "content": content}))
        .collect();
    let mut body = json!({
        "model": wishes.model,
        "max_tokens": wishes.max_output_tokens.unwrap_or(MAX_TOKENS),
        "messages": messages,
        "stream": true,
    });
    if !conversation.system.is_empty() {
        // The tools and the instructions are the same in every round of a turn.
        body["system"] = json!([{
            "type": "text",
            "text": conversation.system,
            "cache_control": {"type": "ephemeral"},
        }]);
    }
    if !conversation.tools.is_empty() {
        let tool = |tool: &ToolDefinition| json!({"name": tool.name, "description": tool.description, "input_schema": tool.parameters});
        body["tools"] = conversation.tools.iter().map(tool).collect();
    }
    body
}

/// Returns a block of text. None for an empty one, which the API refuses.
fn text_block(text: &str) -> Option<Value> {
    (!text.trim().is_empty()).then(|| json!({"type": "text", "text": text}))
}
