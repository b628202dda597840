//! The chat loop: a person's message goes to a model, the model's calls go through the pipeline, and the
//! results go back to the model. The loop ends when the model answers without calls or reaches the limit of
//! rounds.

mod ask;
mod call;
mod choose;
mod error;
mod event;
mod history;
mod program;
mod prompt;
mod provenance;
mod read;
mod recall;
mod relay;
mod resume;
mod round;
mod seen;
mod spending;
mod turn;
mod window;

use std::sync::Arc;

use orion_domain::{Caller, ConversationId, Digest, TurnId};
use tokio::sync::mpsc;

use crate::clock::{new_uuid, new_uuid_unlike_others, now_ms};
use crate::model::{Message, Model, Usage};
use crate::people::{self, Identity, IdentityCache};
use crate::pipeline::Pipeline;

pub use self::event::{Event, ToolUse};
use choose::Chosen;
pub use error::ChatError;
use history::Earlier;
pub use program::{program_call, record_program_result};
pub use prompt::tools as offered_tools;
use provenance::{Persons, TaintTracker};
pub use relay::{arguments_text, result_of};
pub use seen::{SeenText, seen_in_chat};
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

/// What a person says.
#[derive(Debug, Clone, Default)]
pub struct Said {
    /// The conversation. None begins a new one.
    pub conversation: Option<ConversationId>,
    /// Messages of a client before the person's. The conversation gets those that it does not have.
    pub context: Vec<Message>,
    /// The message; empty where the newest turn goes on.
    pub text: String,
    /// The model's name; empty for the one that the chat had, or the first.
    pub model: String,
    /// The assistant's name; empty for the one that the chat had.
    pub assistant: String,
    /// Whether the newest turn goes on, which ended before its answer.
    pub resume: bool,
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
    said: &Said,
    events: &mpsc::Sender<Event>,
) -> Result<(), ChatError> {
    // Subscribed before the turn reads the person's rights, so that no change is missed in between.
    let ended = people::ended(by.clone(), chat.people.subscribe(), now_ms());
    let store = &chat.pipeline.store;
    if let Some(conversation) = said.conversation
        && !store.owns_conversation(conversation, &by.caller.user).await?
    {
        return Err(ChatError::NoConversation);
    }
    let chosen = choose::choose(chat, said.conversation, said).await?;
    let (conversation, earlier) =
        history::open(store, &by.caller, said.conversation, said.context.clone()).await?;
    choose::remember(chat, conversation, said).await?;
    let caller = Caller { conversation: Some(conversation), ..by.caller };
    let turn = take_turn(chat, (caller, by.token), &chosen, earlier, said, events);
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
    chat: &Chat,
    (caller, token): (Caller, Digest),
    chosen: &Chosen<'_>,
    earlier: Earlier,
    said: &Said,
    events: &mpsc::Sender<Event>,
) -> Result<(), ChatError> {
    let pipeline = &chat.pipeline;
    let conversation = caller.conversation.ok_or(ChatError::NoConversation)?;
    let id = TurnId::new(new_uuid_unlike_others());
    let (name, model) = chosen.models.first().copied().ok_or(ChatError::NoModel(String::new()))?;
    let is_remote = |(_, model): &(&str, &Model)| matches!(model, Model::Remote(_));
    let is_language_model = chosen.models.iter().any(is_remote);
    let model_name = name.to_owned();
    say(events, Event::Began { conversation, turn: id, model: model_name, is_language_model })
        .await?;
    if let Some(note) = &chosen.note {
        say(events, Event::Note(note.clone())).await?;
    }

    let planner_alone = match model {
        Model::Planner => !pipeline.store.has_language_model(conversation).await?,
        Model::Remote(_) => {
            pipeline.store.set_language_model(conversation).await?;
            false
        }
    };
    let devices = provenance::devices(pipeline);
    let Earlier { stored, given } = earlier;
    let mut messages = [&stored[..], &given].concat();
    if !said.resume {
        messages.push(Message::user(&said.text));
    }
    let persons = Persons::said(&messages, &devices);
    if !said.resume {
        messages.pop();
    }
    let mut taint =
        TaintTracker::before(&pipeline.store, conversation, persons, planner_alone).await?;
    taint.record_relayed(&pipeline.store, conversation, &given).await?;
    let mut turn = Turn::new(pipeline, (caller, token), chosen, events, id, taint);
    turn.take_up(stored, given, said).await?;
    let text = turn.rounds().await?;
    let last = Message::assistant(text.clone(), Vec::new());
    history::append(&pipeline.store, conversation, id, &last).await?;
    let Turn { used: calls, not_understood, usage, cost_nanos, .. } = turn;
    let usage = (usage != Usage::default()).then_some((usage, cost_nanos));
    say(events, Event::Done { text, calls, not_understood, usage }).await
}

async fn say(events: &mpsc::Sender<Event>, event: Event) -> Result<(), ChatError> {
    events.send(event).await.map_err(|_| ChatError::Left)
}

/// Returns a new conversation's id.
fn new_conversation() -> ConversationId {
    ConversationId::new(new_uuid())
}
