//! The chat loop: a person's words go to a model, the calls it makes go through the pipeline, their
//! results go back to the model, until it answers in words or has had its rounds.

mod event;
mod history;
mod prompt;
mod provenance;
mod relay;

use std::collections::HashMap;
use std::sync::Arc;

use orion_domain::extract::{ExtractProblem, ExtractedCall, extract, from_native};
use orion_domain::{
    CallState, Caller, CanonicalArguments, ConversationId, Digest, Envelope, ErrorCode, ToolError,
};
use serde_json::Value;
use tokio::sync::mpsc;

pub use self::event::{Event, ToolUse};
use self::provenance::TaintTracker;
use crate::backend::Backend;
use crate::clock::{new_uuid, now_ms};
use crate::model::{Answer, Message, Model, ModelError, NativeCall, Request};
use crate::people::{self, Identity, StreamEnd};
use crate::pipeline::audit::CallContext;
use crate::pipeline::{self, CallView, reauthorize};
use crate::store::StoreError;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// No model of that name.
    #[error("there is no model `{0}`; `[[models]]` in orion-server.toml lists those there are")]
    NoModel(String),
    /// Not this person's chat, or none at all.
    #[error("there is no such conversation of yours")]
    NoConversation,
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The record cannot be kept.
    #[error("the record could not be written")]
    Store(#[from] StoreError),
    /// The person went away.
    #[error("the conversation was left")]
    Left,
    /// What the person came with is good no more, or lets them do something else by now.
    #[error("{}", match .0 {
        StreamEnd::SignedOut => "the session or token of this conversation is good no more",
        StreamEnd::RoleChanged => "the role of this conversation's person has changed",
    })]
    Ended(StreamEnd),
}

/// One turn of a chat under way.
struct Turn<'a> {
    backend: &'a Arc<Backend>,
    caller: Caller,
    /// SHA-256 of the session or token that the person came with.
    token: Digest,
    model: &'a Model,
    events: &'a mpsc::Sender<Event>,
    messages: Vec<Message>,
    used: Vec<ToolUse>,
    /// What strangers may have written here.
    heard: TaintTracker,
    /// Calls that ended for good: the same call is not sent again in this turn.
    fatal: HashMap<Digest, ToolError>,
}

/// Answers one message of a person. The turn ends at once, in the middle of a model's answer too, when
/// the person leaves or what they came with ends. Calls under way go on, as every call does whose
/// caller left.
///
/// # Errors
/// See [`ChatError`]; the calls that were made are in the store.
pub async fn answer(
    backend: &Arc<Backend>,
    by: Identity,
    conversation: Option<ConversationId>,
    text: &str,
    model: &str,
    events: &mpsc::Sender<Event>,
) -> Result<(), ChatError> {
    let (name, model) = backend
        .models
        .iter()
        .find(|(name, _)| model.is_empty() || name == model)
        .ok_or_else(|| ChatError::NoModel(model.chars().take(64).collect()))?;
    // Before the turn looks at the person for the first time, so that no change falls in between.
    let ended = people::ended(by.clone(), backend.people.subscribe(), now_ms());
    let (conversation, earlier) = history::open(backend, &by.caller, conversation).await?;
    let caller = Caller { conversation: Some(conversation), ..by.caller };
    let turn = take_turn(backend, (caller, by.token), (name, model), earlier, text, events);
    tokio::select! {
        biased;
        // A turn that is dropped drops its request to the model.
        () = events.closed() => Err(ChatError::Left),
        ending = ended => Err(ChatError::Ended(ending)),
        done = turn => done,
    }
}

/// The turn of a person in their conversation, with what was said before.
async fn take_turn(
    backend: &Arc<Backend>,
    (caller, token): (Caller, Digest),
    (name, model): (&str, &Model),
    earlier: Vec<Message>,
    text: &str,
    events: &mpsc::Sender<Event>,
) -> Result<(), ChatError> {
    let conversation = caller.conversation.ok_or(ChatError::NoConversation)?;
    say(events, Event::Began { conversation, model: name.to_owned() }).await?;

    let mut messages = vec![Message::system(prompt::system(backend, &caller))];
    messages.extend(earlier);
    messages.push(Message::user(text));
    history::append(backend, conversation, &Message::user(text)).await?;

    let heard = TaintTracker::before(backend, conversation).await?;
    let (used, fatal) = (Vec::new(), HashMap::new());
    let mut turn = Turn { backend, caller, token, model, events, messages, used, heard, fatal };
    let text = turn.rounds().await?;
    let last = Message::assistant(text.clone(), Vec::new());
    history::append(backend, conversation, &last).await?;
    say(events, Event::Done { text, calls: turn.used }).await
}

async fn say(events: &mpsc::Sender<Event>, event: Event) -> Result<(), ChatError> {
    events.send(event).await.map_err(|_| ChatError::Left)
}

impl Turn<'_> {
    /// Round after round, until the model answers in words. Gives its last words.
    async fn rounds(&mut self) -> Result<String, ChatError> {
        let most = self.backend.config.chat.max_tool_rounds;
        let mut words = String::new();
        for round in 0..=most {
            let tools = if self.backend.config.chat.tools_enabled {
                prompt::tools(self.backend, &self.caller)
            } else {
                Vec::new()
            };
            let request = Request { messages: self.messages.clone(), tools };
            self.still_authorized().await?;
            let (answer, shown) = relay::complete(self.model, &request, self.events).await?;
            let (calls, problems, text) = self.read(&answer);
            relay::rest(self.events, &text, &shown).await?;
            if !text.is_empty() {
                words = text;
            }
            if answer.truncated {
                self.note("The model's answer was cut off at its limit.").await?;
            }
            if calls.is_empty() && problems.is_empty() {
                return Ok(words);
            }
            if round == most {
                self.note(&format!(
                    "The model wanted more than {most} rounds of tool calls; its last words are the answer."
                ))
                .await?;
                return Ok(words);
            }
            self.round(calls, problems).await?;
        }
        Ok(words)
    }

    /// What an answer asks for: calls, what is wrong with others, and the words around them.
    fn read(&self, answer: &Answer) -> (Vec<ExtractedCall>, Vec<ExtractProblem>, String) {
        if !self.backend.config.chat.tools_enabled {
            return (Vec::new(), Vec::new(), answer.text.clone());
        }
        if answer.native_calls.is_empty() {
            let extraction = extract(&answer.text);
            return (extraction.calls, extraction.problems, extraction.text);
        }
        let (mut calls, mut problems) = (Vec::new(), Vec::new());
        for call in &answer.native_calls {
            match from_native(Some(&call.id), &call.name, &call.arguments) {
                Ok(call) => calls.push(call),
                Err(problem) => problems.push(problem),
            }
        }
        (calls, problems, answer.text.clone())
    }

    async fn round(
        &mut self,
        calls: Vec<ExtractedCall>,
        problems: Vec<ExtractProblem>,
    ) -> Result<(), ChatError> {
        if !problems.is_empty() {
            let listed: Vec<_> = problems.iter().map(ToString::to_string).collect();
            let text = format!("A tool call could not be read: {}", listed.join("; "));
            self.note(&text).await?;
            if calls.is_empty() {
                self.messages.push(Message::user(format!("{text}. Write it again, correctly.")));
                return Ok(());
            }
        }
        let mut written = Vec::with_capacity(calls.len());
        for (index, mut call) in calls.into_iter().enumerate() {
            let id =
                call.id.take().unwrap_or_else(|| format!("call_{}_{index}", self.messages.len()));
            written.push((id, call));
        }
        let native = written
            .iter()
            .map(|(id, call)| NativeCall {
                id: id.clone(),
                name: call.tool.clone(),
                arguments: relay::arguments_text(call),
            })
            .collect();
        let message = Message::assistant(String::new(), native);
        self.keep(message).await?;
        for (id, call) in written {
            let reply = self.call(call).await?;
            if let Some(conversation) = self.caller.conversation {
                self.heard.record_result(self.backend, conversation, &reply).await?;
            }
            let limit = self.backend.config.chat.result_limit;
            self.keep(Message::tool(id, prompt::capped(&reply.result, limit))).await?;
        }
        Ok(())
    }

    async fn keep(&mut self, message: Message) -> Result<(), ChatError> {
        if let Some(conversation) = self.caller.conversation {
            history::append(self.backend, conversation, &message).await?;
        }
        self.messages.push(message);
        Ok(())
    }

    /// Looks at the person as the store has them at this moment. A turn lasts, so each call and each
    /// question to the model needs a session or token that is still good, and the same role.
    async fn still_authorized(&self) -> Result<(), ChatError> {
        match reauthorize::person(self.backend, &self.caller, Some(self.token)).await? {
            Ok(caller) if caller.role == self.caller.role => Ok(()),
            Ok(_) => Err(ChatError::Ended(StreamEnd::RoleChanged)),
            Err(_) => Err(ChatError::Ended(StreamEnd::SignedOut)),
        }
    }

    /// One call through the pipeline, waiting for a person where one is asked.
    async fn call(&mut self, written: ExtractedCall) -> Result<CallView, ChatError> {
        let key = identity_of(&written);
        let request = pipeline::extract::request(written.clone());
        let target = pipeline::validate::target(self.backend, &request).ok();
        let strangers = self.heard.about(&written, target.as_ref().map(|it| &it.device.name));
        let quoted = strangers.quoted;
        let token = Some(self.token);
        let incoming =
            CallContext { strangers, token, ..CallContext::new(self.caller.clone(), request) };
        say(self.events, Event::CallBegan { call: incoming.id, written, quoted }).await?;
        // After whatever waits for the person to read.
        self.still_authorized().await?;
        let mut reply = match self.fatal.get(&key) {
            Some(earlier) => {
                let mut error = earlier.clone();
                error.message =
                    format!("This call failed for good before in this turn: {}", error.message);
                let shared = Arc::clone(self.backend);
                let denied =
                    async move { pipeline::audit::deny(&shared, incoming, None, error).await };
                self.backend.run_to_completion(denied).await?
            }
            None => pipeline::run_incoming(self.backend, incoming).await?,
        };
        reply = self.ended(reply).await?;
        if let Some(other) = changed_to(&reply) {
            say(self.events, Event::CallEnded(Box::new(reply))).await?;
            let row = self.backend.store.call(&other).await?;
            reply = self.ended(CallView::from(row)).await?;
        }
        self.remember(key, &reply);
        say(self.events, Event::CallEnded(Box::new(reply.clone()))).await?;
        Ok(reply)
    }

    /// Asks about a call that waits for a person, and waits for its end.
    async fn ended(&self, mut reply: CallView) -> Result<CallView, ChatError> {
        if let (Some(approval), false) = (reply.approval, reply.state.is_closed()) {
            let card = self.backend.store.approval(&approval.to_string()).await?;
            say(self.events, Event::ApprovalNeeded(Box::new(card))).await?;
        }
        let waits = |reply: &CallView| {
            reply.approval.is_some() && reply.state != CallState::Queued && !reply.state.is_closed()
        };
        let mut changes = self.backend.bus.watch_call(reply.call);
        while waits(&reply) {
            // Looked at again first: it may have been answered before the watcher was there.
            reply = CallView::from(self.backend.store.call(&reply.call.to_string()).await?);
            if !waits(&reply) {
                break;
            }
            tokio::select! {
                () = self.backend.shutdown.cancelled() => return Err(ChatError::Left),
                () = changes.changed() => {}
            }
        }
        Ok(reply)
    }

    fn remember(&mut self, key: Digest, reply: &CallView) {
        let error = serde_json::from_slice::<Envelope>(&reply.result)
            .ok()
            .and_then(|envelope| envelope.error);
        self.used.push(ToolUse {
            call: reply.call,
            tool: reply.tool.clone(),
            device: reply.device.as_ref().map(ToString::to_string).unwrap_or_default(),
            state: reply.state,
            code: error.as_ref().map(|error| error.code),
        });
        if let Some(error) = error
            && !error.recoverable
        {
            self.fatal.insert(key, error);
        }
    }

    async fn note(&self, text: &str) -> Result<(), ChatError> {
        say(self.events, Event::Note(text.to_owned())).await
    }
}

/// The call that an approver made instead of this one.
fn changed_to(reply: &CallView) -> Option<String> {
    let error = serde_json::from_slice::<Envelope>(&reply.result).ok()?.error?;
    (error.code == ErrorCode::ApprovalRejected)
        .then(|| error.details.get("changed_to")?.as_str().map(str::to_owned))?
}

/// What makes two calls of a turn the same one.
fn identity_of(call: &ExtractedCall) -> Digest {
    let arguments = CanonicalArguments::from_value(&Value::Object(call.arguments.clone()));
    Digest::of_fields(
        "orion.chat.call.v1",
        &[
            call.tool.as_bytes(),
            call.device.as_deref().unwrap_or_default().as_bytes(),
            &[u8::from(call.dry_run)],
            arguments.as_bytes(),
        ],
    )
}

/// A conversation's id that nobody has.
fn new_conversation() -> ConversationId {
    ConversationId::new(new_uuid())
}
