//! Converts a conversation to the form of Gemini, where both sides take turns.

use serde_json::{Value, json};

use crate::model::remote::conversation::{Call, Conversation, Turn};
use crate::model::remote::form::Wishes;
use crate::model::{ProviderState, ToolDefinition};

/// What the provider documents for a call in an open turn whose signature is not known, such as one that was
/// made before the backend started again.
const UNSIGNED: &str = "skip_thought_signature_validator";

/// Returns the body of a request.
pub(in crate::model::remote) fn body(conversation: &Conversation<'_>, wishes: Wishes<'_>) -> Value {
    let mut contents: Vec<(&str, Vec<Value>)> = Vec::new();
    for turn in &conversation.turns {
        let (role, parts) = match turn {
            Turn::User(text) => ("user", vec![json!({"text": text})]),
            Turn::Model { text, calls, state, is_open } => {
                let mut parts = Vec::new();
                if !text.is_empty() {
                    parts.push(json!({"text": text}));
                }
                let numbered = (0..).zip(calls);
                parts.extend(numbered.map(|(number, call)| part(call, number, *state, *is_open)));
                ("model", parts)
            }
            Turn::Result { id, name, content } => {
                let whole = serde_json::from_str::<Value>(content).ok().filter(Value::is_object);
                let response = whole.unwrap_or_else(|| json!({"output": content}));
                let result = json!({"id": id, "name": name, "response": response});
                ("user", vec![json!({"functionResponse": result})])
            }
        };
        match contents.last_mut() {
            _ if parts.is_empty() => {}
            Some((last, earlier)) if *last == role => earlier.extend(parts),
            _ => contents.push((role, parts)),
        }
    }
    let contents: Vec<Value> =
        contents.into_iter().map(|(role, parts)| json!({"role": role, "parts": parts})).collect();
    let mut body = json!({"contents": contents});
    if !conversation.system.is_empty() {
        body["systemInstruction"] = json!({"parts": [{"text": conversation.system}]});
    }
    if let Some(most) = wishes.max_output_tokens {
        body["generationConfig"] = json!({"maxOutputTokens": most});
    }
    if !conversation.tools.is_empty() {
        let tool = |tool: &ToolDefinition| {
            json!({"name": tool.name, "description": tool.description,
                "parametersJsonSchema": tool.parameters})
        };
        let declared: Vec<Value> = conversation.tools.iter().map(tool).collect();
        body["tools"] = json!([{"functionDeclarations": declared}]);
    }
    body
}

fn part(call: &Call<'_>, number: u64, state: Option<&ProviderState>, is_open: bool) -> Value {
    let mut part = json!({"functionCall": {
        "id": call.id, "name": call.name, "args": call.arguments_value(),
    }});
    let mut items = state.iter().flat_map(|state| &state.items);
    let signed = items.find(|item| item.get("call").and_then(Value::as_u64) == Some(number));
    match signed.and_then(|item| item.get("thoughtSignature")) {
        Some(signature) => part["thoughtSignature"] = signature.clone(),
        // Only the first call of an answer is signed, so that a known state without one is complete.
        None if is_open && state.is_none() && number == 0 => {
            part["thoughtSignature"] = UNSIGNED.into();
        }
        None => {}
    }
    part
}
