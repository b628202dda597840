//! What was said before, from the record to the model's form and back.

use orion_domain::{Caller, ConversationId};

use super::{ChatError, new_conversation};
use crate::backend::Backend;
use crate::clock::now_ms;
use crate::model::{Message, Role};
use crate::store::StoreError;

/// How many of the newest messages a model is shown.
const SHOWN: usize = 60;

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
    Ok((id, messages))
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
