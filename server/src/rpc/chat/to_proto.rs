//! Converts models and the events of a chat to their wire form.

use orion_wire::v1::send_message_response::Event as Wire;
use orion_wire::{call_state, v1};

use crate::chat::{Event, ToolUse};
use crate::model::Model;
use crate::rpc::approval::to_proto::approval;
use crate::rpc::tool::to_proto::call;

/// Converts a model with its name.
pub(super) fn model((name, model): &(String, Model)) -> v1::Model {
    let (kind, is_language_model) = match model {
        Model::OpenAi(_) => ("openai", true),
        Model::Planner => ("planner", false),
    };
    v1::Model { name: name.clone(), kind: kind.to_owned(), is_language_model }
}

/// Converts an event of a chat turn.
pub(super) fn event(event: Event) -> Wire {
    match event {
        Event::Began { conversation, turn, model } => Wire::Began(v1::Began {
            conversation_id: conversation.to_string(),
            model,
            turn_id: turn.to_string(),
        }),
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
        Event::Done { text, calls, not_understood } => {
            let tools_used = calls.into_iter().map(tool_use).collect();
            Wire::Done(v1::Done { text, tools_used, not_understood })
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
