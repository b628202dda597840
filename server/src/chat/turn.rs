//! One turn of a chat: rounds of an answer of the model and its calls, until the model answers without calls.

use std::collections::HashMap;
use std::sync::Arc;

use orion_domain::extract::ExtractProblem;
use orion_domain::{Caller, Digest, ToolError, TurnId};
use tokio::sync::mpsc;

use super::choose::Chosen;
use super::error::ChatError;
use super::provenance::TaintTracker;
use super::read::{Reading, told};
use super::{Event, ToolUse, history, relay, say};
use crate::config::Assistant;
use crate::model::{Message, Model, Usage};
use crate::people::StreamEnd;
use crate::pipeline::{Pipeline, reauthorize};

/// A chat turn in progress.
pub(super) struct Turn<'a> {
    pub(super) pipeline: &'a Arc<Pipeline>,
    pub(super) caller: Caller,
    /// SHA-256 of the person's session or token.
    pub(super) token: Digest,
    /// The model to ask and those that stand in for it, by name.
    pub(super) models: &'a [(&'a str, &'a Model)],
    /// Which of them is asked now.
    pub(super) current: usize,
    /// What narrows the calls. None for everything that the person may use.
    pub(super) assistant: Option<&'a Assistant>,
    pub(super) events: &'a mpsc::Sender<Event>,
    pub(super) messages: Vec<Message>,
    /// This turn, for the calls that are made in it.
    pub(super) id: TurnId,
    pub(super) used: Vec<ToolUse>,
    /// The untrusted content of this conversation.
    pub(super) taint: TaintTracker,
    /// The errors of calls that failed for good: the same call is not made again in this turn.
    pub(super) fatal: HashMap<Digest, ToolError>,
    /// Whether the last answer says that the message was not understood.
    pub(super) not_understood: bool,
    /// Whether the person was told that a part of the chat is left out.
    pub(super) is_cut: bool,
    /// What the turn used of language models.
    pub(super) usage: Usage,
    /// What that cost, in billionths of the currency.
    pub(super) cost_nanos: u64,
}

impl<'a> Turn<'a> {
    pub(super) fn new(
        pipeline: &'a Arc<Pipeline>,
        (caller, token): (Caller, Digest),
        chosen: &'a Chosen<'_>,
        events: &'a mpsc::Sender<Event>,
        id: TurnId,
        taint: TaintTracker,
    ) -> Self {
        Self {
            pipeline,
            caller,
            token,
            models: &chosen.models,
            current: 0,
            assistant: chosen.assistant,
            events,
            messages: Vec::new(),
            id,
            used: Vec::new(),
            taint,
            fatal: HashMap::new(),
            not_understood: false,
            is_cut: false,
            usage: Usage::default(),
            cost_nanos: 0,
        }
    }

    /// Runs rounds until the model answers without calls. Returns its last text.
    pub(super) async fn rounds(&mut self) -> Result<String, ChatError> {
        let most = self.pipeline.config.chat.max_tool_rounds;
        let mut words = String::new();
        let mut asked_to_call_natively = false;
        for round in 0..=most {
            self.still_authorized().await?;
            let (answer, shown) = self.ask().await?;
            self.not_understood = answer.not_understood;
            let Reading { calls, problems, set_aside, text } = self.read(&answer).await?;
            relay::rest(self.events, &text, &shown).await?;
            if !text.is_empty() {
                words = text;
            }
            if answer.truncated {
                self.note("The model's answer was cut off at its limit.").await?;
            }
            if answer.filtered {
                self.note("The model or its provider refused to go on with this answer.").await?;
            }
            if let Some(told) = told(&set_aside) {
                self.note(&told).await?;
            }
            if calls.is_empty() && problems.is_empty() {
                return Ok(words);
            }
            if calls.is_empty() && problems == [ExtractProblem::WrittenAsText] {
                if asked_to_call_natively {
                    // The model means it as text.
                    self.note(&unread(&problems)).await?;
                    return Ok(words);
                }
                asked_to_call_natively = true;
            }
            if round == most {
                self.note(&format!(
                    "The model wanted more than {most} rounds of tool calls; its last words are the answer."
                ))
                .await?;
                return Ok(words);
            }
            self.round(calls, problems, answer).await?;
        }
        Ok(words)
    }

    pub(super) async fn keep(&mut self, message: Message) -> Result<(), ChatError> {
        if let Some(conversation) = self.caller.conversation {
            history::append(&self.pipeline.store, conversation, self.id, &message).await?;
        }
        self.messages.push(message);
        Ok(())
    }

    /// Checks the person's current rights in the store. A turn takes long, so each call and each request to
    /// the model requires a valid session or token, and an unchanged role.
    pub(super) async fn still_authorized(&self) -> Result<(), ChatError> {
        match reauthorize::person(self.pipeline, &self.caller, Some(self.token)).await? {
            Ok(caller) if caller.role == self.caller.role => Ok(()),
            Ok(_) => Err(ChatError::Ended(StreamEnd::RoleChanged)),
            Err(_) => Err(ChatError::Ended(StreamEnd::SignedOut)),
        }
    }

    pub(super) async fn note(&self, text: &str) -> Result<(), ChatError> {
        say(self.events, Event::Note(text.to_owned())).await
    }
}

/// Returns what the model and the person are told of calls that could not be read.
pub(super) fn unread(problems: &[ExtractProblem]) -> String {
    let listed: Vec<_> = problems.iter().map(ToString::to_string).collect();
    format!("A tool call could not be read: {}", listed.join("; "))
}
