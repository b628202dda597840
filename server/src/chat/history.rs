//! Converts a conversation between the database's form and the model's form.

use orion_domain::{Caller, ConversationId, TurnId};

use super::{ChatError, new_conversation};
use crate::clock::now_ms;
use crate::model::{Message, Role};
use crate::store::{Store, StoreError};

/// How many of the newest messages a model receives, with the rest of the turn in which they begin.
const MIN_MESSAGES: u32 = 60;

/// Takes the place of a result that is not in the database.
const MISSING_RESULT: &str = "The person left before this call had ended; what came of it was not seen in this conversation.";

/// The messages before the person's.
#[derive(Debug)]
pub(super) struct Earlier {
    /// Those of the conversation, as the model receives them.
    pub(super) stored: Vec<Message>,
    /// Those of the client, which are not stored yet.
    pub(super) given: Vec<Message>,
}

/// Opens a person's conversation and returns its newest messages, oldest first, starting with a person's
/// message. Creates a conversation where `conversation` is `None`. Calls may be without a result. `given` are messages
/// of a client before the person's; the conversation gets those that it does not have.
pub(super) async fn open(
    store: &Store,
    caller: &Caller,
    conversation: Option<ConversationId>,
    mut given: Vec<Message>,
) -> Result<(ConversationId, Earlier), ChatError> {
    let Some(id) = conversation else {
        let id = new_conversation();
        store.create_conversation(id, &caller.user, now_ms()).await?;
        return Ok((id, Earlier { stored: Vec::new(), given }));
    };
    let rows = match store.newest_turns(id, &caller.user, MIN_MESSAGES).await {
        Ok(rows) => rows,
        Err(StoreError::NotFound) => return Err(ChatError::NoConversation),
        Err(error) => return Err(error.into()),
    };
    let mut messages: Vec<Message> =
        rows.iter().filter_map(|row| serde_json::from_str(&row.content).ok()).collect();
    // A result without its call is useless to a model, and some models reject it.
    let first = messages.iter().position(|message| message.role == Role::User);
    given.retain(|message| !messages.contains(message));
    messages.drain(..first.unwrap_or(messages.len()));
    Ok((id, Earlier { stored: messages, given }))
}

/// Gives every call a result. A call that was still running when the person left has no result in the
/// database, and models reject a conversation with an unanswered call.
pub(super) fn answered(messages: Vec<Message>) -> Vec<Message> {
    let mut complete = Vec::with_capacity(messages.len());
    let mut open: Vec<String> = Vec::new();
    for message in messages {
        if message.role == Role::Tool {
            let known = message.tool_call_id.as_ref();
            // A result without an open call is dropped.
            match open.iter().position(|id| Some(id) == known) {
                Some(at) => drop(open.remove(at)),
                None => continue,
            }
        } else {
            complete.extend(open.drain(..).map(|id| Message::tool(id, MISSING_RESULT)));
            open.extend(message.tool_calls.iter().map(|call| call.id.clone()));
        }
        complete.push(message);
    }
    complete.extend(open.drain(..).map(|id| Message::tool(id, MISSING_RESULT)));
    complete
}

/// Stores a message.
pub(super) async fn append(
    store: &Store,
    conversation: ConversationId,
    turn: TurnId,
    message: &Message,
) -> Result<(), ChatError> {
    let role = match message.role {
        // The system message is generated for every turn.
        Role::System => return Ok(()),
        Role::User => "user",
        Role::Assistant => "assistant",
        Role::Tool => "tool",
    };
    let content = serde_json::to_string(message).unwrap_or_default();
    store.append_message(conversation, turn, (role, &content), now_ms()).await?;
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
            Message::tool("b", MISSING_RESULT),
            Message::user("2"),
            made,
            Message::tool("a", MISSING_RESULT),
            Message::tool("b", MISSING_RESULT),
        ];
        let complete = answered(left);
        assert_eq!(complete, expected);
        assert_eq!(answered(complete.clone()), complete);
    }
}
