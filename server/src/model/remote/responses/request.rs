//! Converts a conversation to the form of the Responses API. Nothing is stored at the provider: reasoning comes
//! back encrypted and is sent again with the results of its calls.

use serde_json::{Value, json};

use crate::model::ToolDefinition;
use crate::model::remote::conversation::{Conversation, Turn};
use crate::model::remote::form::Wishes;

/// Returns the body of a request.
pub(in crate::model::remote) fn body(conversation: &Conversation<'_>, wishes: Wishes<'_>) -> Value {
    let mut input = Vec::new();
    for turn in &conversation.turns {
        match turn {
            Turn::User(text) => input.push(json!({"role": "user", "content": text})),
            Turn::Model { text, calls, state, .. } => {
                input.extend(state.iter().flat_map(|state| state.items.iter().cloned()));
                if !text.is_empty() {
                    input.push(json!({"role": "assistant", "content": text}));
                }
                input.extend(calls.iter().map(|call| {
                    json!({"type": "function_call", "call_id": call.id, "name": call.name, "arguments": call.arguments})
                }));
            }
            Turn::Result { id, content, .. } => input
                .push(json!({"type": "function_call_output", "call_id": id, "output": content})),
        }
    }
    let mut body = json!({"model": wishes.model, "input": input, "stream": true, "store": false});
    if wishes.extras {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    if !conversation.system.is_empty() {
        body["instructions"] = conversation.system.as_str().into();
    }
    if let Some(most) = wishes.max_output_tokens {
        body["max_output_tokens"] = most.into();
    }
    if !conversation.tools.is_empty() {
        let tool = |tool: &ToolDefinition| {
            json!({"type": "function", "name": tool.name, "description": tool.description,
                "parameters": tool.parameters, "strict": false})
        };
        body["tools"] = conversation.tools.iter().map(tool).collect();
    }
    body
}
