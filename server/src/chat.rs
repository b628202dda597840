//! The chat loop: a person's message goes to a model, the model's calls go through the pipeline, and the
//! results go back to the model. The loop ends when the model answers without calls or reaches the limit of
//! rounds.

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
use crate::clock::{new_uuid, now_ms};
use crate::model::{Answer, Message, Model, ModelError, NativeCall, Request};
use crate::people::{self, Identity, IdentityCache, StreamEnd};
use crate::pipeline::call::{CallContext, Origin};
use crate::pipeline::{self, CallView, Pipeline, reauthorize};
use crate::store::StoreError;

/// Why a chat turn failed.
#[derive(Debug, thiserror::Error)]
pub enum ChatError {
    /// There is no model of that name.
    #[error("there is no model `{0}`; `[[models]]` in orion-server.toml lists those there are")]
    NoModel(String),
    /// The conversation does not exist, or is another person's.
    #[error("there is no such conversation of yours")]
    NoConversation,
    /// The model failed.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The store failed.
    #[error("the database could not be written")]
    Store(#[from] StoreError),
    /// The person disconnected.
    #[error("the conversation was left")]
    Left,
    /// The person's session or token is no longer valid, or their role changed.
    #[error("{}", match .0 {
        StreamEnd::SignedOut => "the session or token of this conversation is good no more",
        StreamEnd::RoleChanged => "the role of this conversation's person has changed",
    })]
    Ended(StreamEnd),
}

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

/// A chat turn in progress.
struct Turn<'a> {
    pipeline: &'a Arc<Pipeline>,
    caller: Caller,
    /// SHA-256 of the person's session or token.
    token: Digest,
    model: &'a Model,
    events: &'a mpsc::Sender<Event>,
    messages: Vec<Message>,
    used: Vec<ToolUse>,
    /// The untrusted content of this conversation.
    taint: TaintTracker,
    /// The errors of calls that failed for good: the same call is not made again in this turn.
    fatal: HashMap<Digest, ToolError>,
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
    say(events, Event::Began { conversation, model: name.to_owned() }).await?;

    let mut messages = vec![Message::system(prompt::system(pipeline, &caller))];
    messages.extend(earlier);
    messages.push(Message::user(text));
    history::append(&pipeline.store, conversation, &Message::user(text)).await?;

    let taint = TaintTracker::before(&pipeline.store, conversation).await?;
    let (used, fatal) = (Vec::new(), HashMap::new());
    let mut turn = Turn { pipeline, caller, token, model, events, messages, used, taint, fatal };
    let text = turn.rounds().await?;
    let last = Message::assistant(text.clone(), Vec::new());
    history::append(&pipeline.store, conversation, &last).await?;
    say(events, Event::Done { text, calls: turn.used }).await
}

async fn say(events: &mpsc::Sender<Event>, event: Event) -> Result<(), ChatError> {
    events.send(event).await.map_err(|_| ChatError::Left)
}

impl Turn<'_> {
    /// Runs rounds until the model answers without calls. Returns its last text.
    async fn rounds(&mut self) -> Result<String, ChatError> {
        let most = self.pipeline.config.chat.max_tool_rounds;
        let mut words = String::new();
        for round in 0..=most {
            let tools = if self.pipeline.config.chat.tools_enabled {
                prompt::tools(self.pipeline, &self.caller)
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

    /// Splits an answer into calls, unreadable calls and the text around them.
    fn read(&self, answer: &Answer) -> (Vec<ExtractedCall>, Vec<ExtractProblem>, String) {
        if !self.pipeline.config.chat.tools_enabled {
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
                self.taint.record_result(&self.pipeline.store, conversation, &reply).await?;
            }
            let limit = self.pipeline.config.chat.result_limit;
            self.keep(Message::tool(id, prompt::capped(&reply.result, limit))).await?;
        }
        Ok(())
    }

    async fn keep(&mut self, message: Message) -> Result<(), ChatError> {
        if let Some(conversation) = self.caller.conversation {
            history::append(&self.pipeline.store, conversation, &message).await?;
        }
        self.messages.push(message);
        Ok(())
    }

    /// Checks the person's current rights in the store. A turn takes long, so each call and each request to
    /// the model requires a valid session or token, and an unchanged role.
    async fn still_authorized(&self) -> Result<(), ChatError> {
        match reauthorize::person(self.pipeline, &self.caller, Some(self.token)).await? {
            Ok(caller) if caller.role == self.caller.role => Ok(()),
            Ok(_) => Err(ChatError::Ended(StreamEnd::RoleChanged)),
            Err(_) => Err(ChatError::Ended(StreamEnd::SignedOut)),
        }
    }

    /// Runs one call through the pipeline. Waits for the approval where the call needs one.
    async fn call(&mut self, written: ExtractedCall) -> Result<CallView, ChatError> {
        let key = identity_of(&written);
        let request = pipeline::extract::request(written.clone());
        let target = pipeline::validate::target(self.pipeline, &request).ok();
        let provenance = self.taint.about(&written, target.as_ref().map(|it| &it.device.name));
        let quoted = provenance.quoted;
        let token = Some(self.token);
        let incoming = CallContext {
            provenance,
            token,
            origin: Origin::Chat,
            ..CallContext::new(self.caller.clone(), request)
        };
        say(self.events, Event::CallBegan { call: incoming.id, written, quoted }).await?;
        // After sending an event, which may wait for the client to read.
        self.still_authorized().await?;
        let mut reply = match self.fatal.get(&key) {
            Some(earlier) => {
                let mut error = earlier.clone();
                error.message =
                    format!("This call failed for good before in this turn: {}", error.message);
                let shared = Arc::clone(self.pipeline);
                let denied = async move { shared.deny(incoming, error).await };
                self.pipeline.tasks.run_to_completion(denied).await?
            }
            None => self.pipeline.run(incoming).await?,
        };
        reply = self.ended(reply).await?;
        if let Some(other) = changed_to(&reply) {
            say(self.events, Event::CallEnded(Box::new(reply))).await?;
            let row = self.pipeline.store.call(&other).await?;
            reply = self.ended(CallView::from(row)).await?;
        }
        self.remember(key, &reply);
        say(self.events, Event::CallEnded(Box::new(reply.clone()))).await?;
        Ok(reply)
    }

    /// Shows the approval request of a call that waits for one, and waits for the call's end.
    async fn ended(&self, mut reply: CallView) -> Result<CallView, ChatError> {
        if let (Some(approval), false) = (reply.approval, reply.state.is_closed()) {
            let card = self.pipeline.store.approval(&approval.to_string()).await?;
            say(self.events, Event::ApprovalNeeded(Box::new(card))).await?;
        }
        let waits = |reply: &CallView| {
            reply.approval.is_some() && reply.state != CallState::Queued && !reply.state.is_closed()
        };
        let mut changes = self.pipeline.bus.watch_call(reply.call);
        while waits(&reply) {
            // The call is read again first: it may have changed before the watcher subscribed.
            reply = CallView::from(self.pipeline.store.call(&reply.call.to_string()).await?);
            if !waits(&reply) {
                break;
            }
            tokio::select! {
                () = self.pipeline.tasks.shutdown.cancelled() => return Err(ChatError::Left),
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

/// Returns the id of the call that an approver made instead of this one.
fn changed_to(reply: &CallView) -> Option<String> {
    let error = serde_json::from_slice::<Envelope>(&reply.result).ok()?.error?;
    (error.code == ErrorCode::ApprovalRejected)
        .then(|| error.details.get("changed_to")?.as_str().map(str::to_owned))?
}

/// Returns the digest that equal calls of a turn share.
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

/// Returns a new conversation's id.
fn new_conversation() -> ConversationId {
    ConversationId::new(new_uuid())
}
