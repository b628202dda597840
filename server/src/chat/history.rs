//! What was said before, from the record to the model's form and back.

use orion_domain::{Caller, ConversationId};

use super::{ChatError, new_conversation};
use crate::backend::Backend;
use crate::clock::now_ms;
use crate::model::{Message, Role};
use crate::store::StoreError;

/// How many of the newest messages a model is shown.
const SHOWN: usize = 60;

/// What stands for a result that is not on record.
const UNSEEN: &str = "The person left before this call had ended; what came of it was not seen in this conversation.";

/// Opens a conversation of this person's and gives its newest messages, oldest first, beginning
/// with a person's; or begins a new one.
pub(super) async fn open(
    backend: &Backend,
    caller: &Caller,
    conversation: Option<ConversationId>,
) -> Result<(ConversationId, Vec<Message>), ChatError> {
    let Some(id) = conversation else {
        let id = new_conversation();
        backend.store.create_conversation(id, &caller.user, now_ms()).await?;
        return Ok((id, Vec::new()));
    };
    let rows = match backend.store.messages(id, &caller.user).await {
        Ok(rows) => rows,
        Err(StoreError::NotFound) => return Err(ChatError::NoConversation),
        Err(error) => return Err(error.into()),
    };
    let mut messages: Vec<Message> =
        rows.iter().filter_map(|row| serde_json::from_str(&row.content).ok()).collect();
    messages.drain(..messages.len().saturating_sub(SHOWN));
    // A result without its call means nothing to a model, and some refuse it.
    let first = messages.iter().position(|message| message.role == Role::User);
    messages.drain(..first.unwrap_or(messages.len()));
    Ok((id, answered(messages)))
}

/// Every call with a result. One whose person left before it ended has none on record, and models
/// refuse a conversation in which a call was never answered.
fn answered(messages: Vec<Message>) -> Vec<Message> {
    let mut whole = Vec::with_capacity(messages.len());
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        if message.role == Role::Tool {
            let known = message.tool_call_id.as_ref();
            // A result of no call that is open is as confusing as a call without one.
            match open.iter().position(|id| Some(id) == known) {
                Some(at) => drop(open.remove(at)),
                None => continue,
            }
        } else {
            whole.extend(open.drain(..).map(|id| Message::tool(id, UNSEEN)));
            open.extend(message.tool_calls.iter().map(|call| call.id.clone()));
        }
        whole.push(message);
    }
    whole.extend(open.drain(..).map(|id| Message::tool(id, UNSEEN)));
    whole
}

/// Records a message.
pub(super) async fn append(
    backend: &Backend,
    conversation: ConversationId,
    message: &Message,
) -> Result<(), ChatError> {
    let role = match message.role {
        // What a model is told first is made anew for every turn.
        Role::System => return Ok(()),
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let content = serde_json::to_string(message).unwrap_or_default();
    backend.store.append_message(conversation, role, &content, now_ms()).await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::NativeCall;

    #[test]
    fn a_call_that_was_left_is_told_to_be_unseen() {
        let call = |id: &str| NativeCall {
            id: id.to_owned(),
            name: "get_datetime".to_owned(),
            arguments: "{}".to_owned(),
        };
        let made = Message::assistant("", vec![call("a"), call("b")]);
        let left = vec![
            Message::user("1"),
            made.clone(),
            Message::tool("a", "{}"),
            Message::user("2"),
            Message::tool("stray", "{}"),
            made.clone(),
        ];
        let expected = vec![
            Message::user("1"),
            made.clone(),
            Message::tool("a", "{}"),
            Message::tool("b", UNSEEN),
            Message::user("2"),
            made,
            Message::tool("a", UNSEEN),
            Message::tool("b", UNSEEN),
        ];
        let whole = answered(left);
        assert_eq!(whole, expected);
        assert_eq!(answered(whole.clone()), whole);
    }
}
