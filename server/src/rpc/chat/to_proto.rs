//! Converts models and the events of a chat to their wire form.

use orion_wire::v1::send_message_response::Event as Wire;
use orion_wire::{call_state, v1};

use crate::chat::{Event, ToolUse};
use crate::config::Assistant;
use crate::model::{Message, Model, ModelConfig, ModelKind, Role};
use crate::rpc::approval::to_proto::approval;
use crate::rpc::tool::to_proto::call;
use crate::store::{ChatRow, MessageRow, TurnRow};

/// Converts a model with its name and its section, where it has one.
pub(super) fn model((name, model): &(String, Model), config: Option<&ModelConfig>) -> v1::Model {
    let kind = match config.map(|config| config.kind) {
        Some(ModelKind::Openai) => "openai",
        Some(ModelKind::Anthropic) => "anthropic",
        Some(ModelKind::Gemini) => "gemini",
        Some(ModelKind::Planner) | None => "planner",
    };
    let is_language_model = matches!(model, Model::Remote(_));
    v1::Model { name: name.clone(), kind: kind.to_owned(), is_language_model }
}

/// Converts an assistant.
pub(super) fn assistant(assistant: &Assistant) -> v1::Assistant {
    let model = assistant.model.clone().unwrap_or_default();
    v1::Assistant { name: assistant.name.clone(), model }
}

/// Converts what a turn used.
pub(super) fn turn(row: TurnRow) -> v1::TurnUsage {
    v1::TurnUsage {
        turn_id: row.id.to_string(),
        model: row.model,
        usage: Some(v1::Usage {
            input_tokens: row.input_tokens,
            output_tokens: row.output_tokens,
            cached_tokens: row.cached_tokens,
            estimated: row.is_estimated,
            cost_nanos: row.cost_nanos,
        }),
    }
}

/// Returns whether a message is the answer that ends a turn.
pub(super) fn is_answer(row: &MessageRow) -> bool {
    serde_json::from_str::<Message>(&row.content)
        .is_ok_and(|message| message.role == Role::Assistant && message.tool_calls.is_empty())
}

/// The longest text of a list, in characters.
const MAX_LISTED_CHARS: usize = 200;
/// The most bytes of a message in a chat that is shown; 500 of them fit into one answer.
const MAX_SHOWN_BYTES: usize = 6 * 1024;

/// Converts a chat for a list.
pub(super) fn summary(chat: ChatRow) -> v1::ChatSummary {
    let text = |content: Option<String>| {
        let message = content.and_then(|text| serde_json::from_str::<Message>(&text).ok());
        let text = message.map(|message| message.content).unwrap_or_default();
        text.chars().take(MAX_LISTED_CHARS).collect()
    };
    v1::ChatSummary {
        conversation_id: chat.id.to_string(),
        created_at: chat.created_at,
        last_at: chat.last_at,
        first_message: text(chat.first),
        found: text(chat.found),
    }
}

/// Converts a message of a chat. None for one that cannot be read.
pub(super) fn message(row: MessageRow) -> Option<v1::ChatMessage> {
    let message: Message = serde_json::from_str(&row.content).ok()?;
    let calls = message.tool_calls.iter();
    Some(v1::ChatMessage {
        role: row.role,
        text: shown(message.content),
        at: row.at,
        calls: calls.map(|call| shown(format!("{} {}", call.name, call.arguments))).collect(),
        turn_id: row.turn.map(|turn| turn.to_string()).unwrap_or_default(),
    })
}

/// Cuts a text that is long.
fn shown(mut text: String) -> String {
    if text.len() > MAX_SHOWN_BYTES {
        text.truncate(text.floor_char_boundary(MAX_SHOWN_BYTES));
        text.push('…');
    }
    text
}

/// Converts an event of a chat turn.
pub(super) fn event(event: Event) -> Wire {
    match event {
        Event::Began { conversation, turn, model, is_language_model } => {
            let (conversation_id, turn_id) = (conversation.to_string(), turn.to_string());
            Wire::Began(v1::Began { conversation_id, model, turn_id, is_language_model })
        }
        Event::Text(text) => Wire::TextDelta(v1::TextDelta { text }),
        Event::CallBegan { call, written, quoted } => Wire::CallBegan(v1::CallBegan {
            call_id: call.to_string(),
            tool: written.tool,
            device: written.device.unwrap_or_default(),
            arguments: serde_json::Value::Object(written.arguments).to_string().into(),
            recovered: written.recovered,
            quoted,
        }),
        Event::ApprovalNeeded(row) => Wire::ApprovalNeeded(approval(*row)),
        Event::CallEnded(reply) => Wire::CallEnded(v1::CallEnded { call: Some(call(*reply)) }),
        Event::Note(text) => Wire::Note(v1::Note { text }),
        Event::Done { text, calls, not_understood, usage } => {
            let tools_used = calls.into_iter().map(tool_use).collect();
            let usage = usage.map(|(usage, cost_nanos)| v1::Usage {
                input_tokens: usage.input_tokens,
                output_tokens: usage.output_tokens,
                cached_tokens: usage.cached_tokens,
                estimated: usage.estimated,
                cost_nanos,
            });
            Wire::Done(v1::Done { text, tools_used, not_understood, usage })
        }
    }
}

fn tool_use(used: ToolUse) -> v1::ToolUse {
    let ToolUse { call, tool, device, state, code } = used;
    v1::ToolUse {
        call_id: call.to_string(),
        tool,
        device,
        state: call_state(state).into(),
        code: code.map(|code| code.as_str().to_owned()).unwrap_or_default(),
    }
}
