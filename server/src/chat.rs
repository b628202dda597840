//! The chat loop: a person's message goes to a model, the model's calls go through the pipeline, and the
//! results go back to the model. The loop ends when the model answers without calls or reaches the limit of
//! rounds.

mod call;
mod error;
mod event;
mod history;
mod prompt;
mod provenance;
mod read;
mod recall;
mod relay;
mod turn;

use std::collections::HashMap;
use std::sync::Arc;

use orion_domain::{Caller, ConversationId, Digest, TurnId};
use tokio::sync::mpsc;

use crate::clock::{new_uuid, now_ms};
use crate::model::{Message, Model};
use crate::people::{self, Identity, IdentityCache};
use crate::pipeline::Pipeline;

pub use self::event::{Event, ToolUse};
pub use error::ChatError;
use provenance::{Persons, TaintTracker};
use turn::Turn;

/// What chats use.
#[derive(Debug)]
pub struct Chat {
    /// Runs the model's calls.
    pub pipeline: Arc<Pipeline>,
    /// The models by name, the default first; never empty.
    pub models: Vec<(String, Model)>,
    /// Publishes every change of an account.
    pub people: Arc<IdentityCache>,
}

/// Answers one message of a person. The turn ends immediately, even in the middle of a model's answer, when
/// the person disconnects or their session, token or role ends. Calls in flight continue, as every call does
/// whose caller disconnects.
///
/// # Errors
/// [`ChatError`]; the calls that were made are in the store.
pub async fn answer(
    chat: &Chat,
    by: Identity,
    conversation: Option<ConversationId>,
    text: &str,
    model: &str,
    events: &mpsc::Sender<Event>,
) -> Result<(), ChatError> {
    let Chat { pipeline, models, people: cache } = chat;
    let (name, model) = models
        .iter()
        .find(|(name, _)| model.is_empty() || name == model)
        .ok_or_else(|| ChatError::NoModel(model.chars().take(64).collect()))?;
    // Subscribed before the turn reads the person's rights, so that no change is missed in between.
    let ended = people::ended(by.clone(), cache.subscribe(), now_ms());
    let (conversation, earlier) = history::open(&pipeline.store, &by.caller, conversation).await?;
    let caller = Caller { conversation: Some(conversation), ..by.caller };
    let turn = take_turn(pipeline, (caller, by.token), (name, model), earlier, text, events);
    tokio::select! {
        biased;
        // Dropping the turn cancels its request to the model.
        () = events.closed() => Err(ChatError::Left),
        ending = ended => Err(ChatError::Ended(ending)),
        done = turn => done,
    }
}

/// Runs a person's turn in their conversation, with the earlier messages.
async fn take_turn(
    pipeline: &Arc<Pipeline>,
    (caller, token): (Caller, Digest),
    (name, model): (&str, &Model),
    earlier: Vec<Message>,
    text: &str,
    events: &mpsc::Sender<Event>,
) -> Result<(), ChatError> {
    let conversation = caller.conversation.ok_or(ChatError::NoConversation)?;
    let id = TurnId::new(new_uuid());
    say(events, Event::Began { conversation, turn: id, model: name.to_owned() }).await?;

    let aliases = pipeline.store.aliases(&caller.user).await?;
    let mut messages = vec![Message::system(prompt::system(pipeline, &caller, &aliases))];
    messages.extend(recall::message(pipeline, &caller, text).await?);
    messages.extend(earlier);
    messages.push(Message::user(text));
    history::append(&pipeline.store, conversation, id, &Message::user(text)).await?;

    let planner_alone = match model {
        Model::Planner => !pipeline.store.has_language_model(conversation).await?,
        Model::OpenAi(_) => {
            pipeline.store.set_language_model(conversation).await?;
            false
        }
    };
    let devices: Vec<_> = pipeline.fleet.all().iter().map(|it| it.name.clone()).collect();
    let persons = Persons::said(&messages, &devices);
    let taint = TaintTracker::before(&pipeline.store, conversation, persons, planner_alone).await?;
    let (used, fatal) = (Vec::new(), HashMap::new());
    let mut turn = Turn {
        pipeline,
        caller,
        token,
        model,
        events,
        messages,
        id,
        used,
        taint,
        fatal,
        not_understood: false,
    };
    let text = turn.rounds().await?;
    let last = Message::assistant(text.clone(), Vec::new());
    history::append(&pipeline.store, conversation, id, &last).await?;
    let Turn { used: calls, not_understood, .. } = turn;
    say(events, Event::Done { text, calls, not_understood }).await
}

async fn say(events: &mpsc::Sender<Event>, event: Event) -> Result<(), ChatError> {
    events.send(event).await.map_err(|_| ChatError::Left)
}

/// Returns a new conversation's id.
fn new_conversation() -> ConversationId {
    ConversationId::new(new_uuid())
}
