//! A turn of the chat, step by step, as both forms of the API report it.

use std::sync::Arc;

use orion_domain::{CallId, CallState, ConversationId, Envelope, TurnId};
use serde_json::{Value, json};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::error::ApiError;
use super::prompt::Prompt;
use crate::chat::{self, Chat, ChatError, Event, Said, ToolUse};
use crate::model::Usage;
use crate::people::Identity;
use crate::secret_values;
use crate::store::StoreError;

/// A turn that is under way. Dropping it ends the turn; calls in flight continue.
#[derive(Debug)]
pub(super) struct Turn {
    events: mpsc::Receiver<Event>,
    answering: Option<JoinHandle<Result<(), ChatError>>>,
    /// What has happened so far.
    pub(super) so_far: SoFar,
}

/// What has happened in a turn so far.
#[derive(Debug, Default)]
pub(super) struct SoFar {
    pub(super) conversation: Option<ConversationId>,
    pub(super) turn: Option<TurnId>,
    pub(super) model: String,
    approvals: Vec<Value>,
    notes: Vec<String>,
    calls: Vec<Value>,
    /// The tokens of all requests to models. None where a provider did not report them, and before the end.
    usage: Option<Usage>,
}

/// What happens in a turn.
#[derive(Debug)]
pub(super) enum Step {
    /// The turn has begun.
    Began,
    /// More of the answer's text.
    Text(String),
    /// The model makes a call.
    CallBegan(CallOf),
    /// A call waits for an approval. The text says for which and how to give it.
    Waits(CallId, String),
    /// A call ended.
    CallEnded(CallOf),
    /// The answer is complete.
    Done,
    /// The turn failed.
    Failed(ApiError),
}

/// A call of a turn.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct CallOf {
    pub(super) id: CallId,
    pub(super) tool: String,
    /// JSON, with its secrets hidden.
    pub(super) arguments: String,
    /// The result envelope, JSON, with its secrets hidden. None while the call runs.
    pub(super) result: Option<String>,
    /// The error. None unless the call ended with one.
    pub(super) error: Option<String>,
    pub(super) state: CallState,
}

impl Turn {
    /// Begins to answer a prompt.
    pub(super) fn begin(
        chat: &Arc<Chat>,
        by: Identity,
        Prompt { conversation, context, text }: Prompt,
        model: &str,
    ) -> Self {
        let (sender, events) = mpsc::channel(64);
        let shared = Arc::clone(chat);
        let said = Said { conversation, context, text, model: model.to_owned(), ..Said::default() };
        let answering = chat
            .pipeline
            .tasks
            .background
            .spawn(async move { chat::answer(&shared, by, &said, &sender).await });
        Self { events, answering: Some(answering), so_far: SoFar::default() }
    }

    /// Returns what happens next. `None` once the turn is over.
    pub(super) async fn next(&mut self) -> Option<Step> {
        loop {
            let Some(event) = self.events.recv().await else {
                let failed = match self.answering.take()?.await {
                    Ok(Ok(())) => return None,
                    Ok(Err(error)) => error.into(),
                    Err(_) => StoreError::Unavailable.into(),
                };
                return Some(Step::Failed(failed));
            };
            if let Some(step) = self.so_far.take(event) {
                return Some(step);
            }
        }
    }
}

impl SoFar {
    /// Takes an event. `None` where a client sees nothing of it yet.
    fn take(&mut self, event: Event) -> Option<Step> {
        match event {
            Event::Began { conversation, turn, model, is_language_model: _ } => {
                self.conversation = Some(conversation);
                self.turn = Some(turn);
                self.model = model;
                Some(Step::Began)
            }
            Event::Text(text) => Some(Step::Text(text)),
            Event::CallBegan { call, written, quoted: _ } => Some(Step::CallBegan(CallOf {
                id: call,
                arguments: hidden_json(&chat::arguments_text(&written, &written.tool)),
                tool: written.tool,
                result: None,
                error: None,
                state: CallState::Received,
            })),
            Event::ApprovalNeeded(card) => {
                let command = format!("orion approvals show {}", card.id);
                let text = format!(
                    "Waiting for a person to approve `{}` on {}: `{command}`.",
                    card.tool, card.device.1
                );
                let approval = json!({"id": card.id, "call": card.call, "command": command});
                self.approvals.push(approval);
                Some(Step::Waits(card.call, text))
            }
            Event::CallEnded(view) => {
                let result = chat::result_of(&view);
                let envelope: Option<Envelope> = serde_json::from_slice(&result).ok();
                let error = envelope.as_ref().and_then(|it| it.error.as_ref());
                Some(Step::CallEnded(CallOf {
                    id: view.call,
                    tool: view.tool.clone(),
                    arguments: hidden_json(&String::from_utf8_lossy(&view.arguments)),
                    error: error.map(ToString::to_string),
                    result: Some(String::from_utf8_lossy(&result).into_owned()),
                    state: view.state,
                }))
            }
            Event::Note(text) => {
                self.notes.push(secret_values::hidden(&text).unwrap_or(text));
                None
            }
            Event::Done { text: _, calls, not_understood: _, usage } => {
                self.calls = calls.iter().map(used).collect();
                self.usage = usage.map(|(usage, _)| usage).filter(|usage| !usage.estimated);
                Some(Step::Done)
            }
        }
    }

    /// Returns what Orion adds to an answer: its conversation, its calls, open approvals and notes.
    pub(super) fn of_orion(&self) -> Value {
        json!({
            "conversation": self.conversation,
            "turn": self.turn,
            "calls": self.calls,
            "approvals": self.approvals,
            "notes": self.notes,
        })
    }

    /// Returns the metadata by which a client continues the conversation.
    pub(super) fn metadata(&self) -> Value {
        json!({"conversation": self.conversation})
    }

    /// Returns the tokens of the turn as `/v1/chat/completions` names them, or null.
    pub(super) fn usage_of_chat(&self) -> Value {
        self.usage.map_or(Value::Null, |usage| {
            json!({
                "prompt_tokens": usage.input_tokens,
                "completion_tokens": usage.output_tokens,
                "total_tokens": usage.tokens(),
                "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
            })
        })
    }

    /// Returns the tokens of the turn as `/v1/responses` names them, or null.
    pub(super) fn usage_of_response(&self) -> Value {
        self.usage.map_or(Value::Null, |usage| {
            json!({
                "input_tokens": usage.input_tokens,
                "input_tokens_details": {"cached_tokens": usage.cached_tokens},
                "output_tokens": usage.output_tokens,
                // A part of the output that clients expect and providers do not report apart.
                "output_tokens_details": {"reasoning_tokens": 0},
                "total_tokens": usage.tokens(),
            })
        })
    }

    /// Returns the id of the turn without hyphens; empty before the turn began.
    pub(super) fn turn_id(&self) -> String {
        self.turn.map(|id| id.to_string().replace('-', "")).unwrap_or_default()
    }
}

/// Returns a JSON text with its secrets hidden.
fn hidden_json(text: &str) -> String {
    match serde_json::from_str::<Value>(text) {
        Ok(mut value) => {
            secret_values::hide_in(&mut value);
            value.to_string()
        }
        Err(_) => secret_values::hidden(text).unwrap_or_else(|| text.to_owned()),
    }
}

fn used(call: &ToolUse) -> Value {
    json!({
        "id": call.call,
        "tool": call.tool,
        "device": call.device,
        "state": call.state.as_str(),
        "code": call.code,
    })
}
