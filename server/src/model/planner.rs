//! Passes a conversation to the built-in planner.

use orion_planner::{Answer, Call, Message};

use super::{Request, Role};

/// Returns the planner's answer to the last message.
pub(super) fn answer(request: &Request) -> Answer {
    let conversation: Vec<Message<'_>> = request.messages.iter().filter_map(message).collect();
    orion_planner::answer(&conversation)
}

/// Converts one message. None for the system's instructions, which the planner does not need.
fn message(message: &super::Message) -> Option<Message<'_>> {
    match message.role {
        Role::System => None,
        Role::User => Some(Message::Request(message.content.as_str().into())),
        Role::Assistant => {
            let calls = message.tool_calls.iter().map(|call| Call {
                id: call.id.as_str().into(),
                tool: call.name.as_str().into(),
                arguments: call.arguments.as_str().into(),
            });
            Some(Message::Answer { text: message.content.as_str().into(), calls: calls.collect() })
        }
        Role::Tool => Some(Message::Result {
            call_id: message.tool_call_id.as_deref().map(Into::into),
            envelope: message.content.as_str().into(),
        }),
    }
}
