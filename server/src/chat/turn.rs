//! One turn of a chat: rounds of an answer of the model and its calls, until the model answers without calls.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use orion_domain::extract::{ExtractProblem, ExtractedCall};
use orion_domain::{Caller, Digest, ToolError, TurnId};
use tokio::sync::mpsc;

use super::error::ChatError;
use super::provenance::TaintTracker;
use super::read::{Reading, told};
use super::{Event, ToolUse, history, prompt, relay, say};
use crate::model::{Message, Model, NativeCall, Request};
use crate::people::StreamEnd;
use crate::pipeline::{self, Pipeline, aliases, reauthorize};

/// A chat turn in progress.
pub(super) struct Turn<'a> {
    pub(super) pipeline: &'a Arc<Pipeline>,
    pub(super) caller: Caller,
    /// SHA-256 of the person's session or token.
    pub(super) token: Digest,
    pub(super) model: &'a Model,
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
}

impl Turn<'_> {
    /// Runs rounds until the model answers without calls. Returns its last text.
    pub(super) async fn rounds(&mut self) -> Result<String, ChatError> {
        let most = self.pipeline.config.chat.max_tool_rounds;
        let mut words = String::new();
        let mut asked_to_call_natively = false;
        for round in 0..=most {
            let tools = if self.pipeline.config.chat.tools_enabled {
                prompt::tools(self.pipeline, &self.caller)
            } else {
                Vec::new()
            };
            let request = Request { messages: self.messages.clone(), tools };
            self.still_authorized().await?;
            let (answer, shown) = relay::complete(self.model, &request, self.events).await?;
            self.not_understood = answer.not_understood;
            let Reading { calls, problems, set_aside, text } = self.read(&answer).await?;
            relay::rest(self.events, &text, &shown).await?;
            if !text.is_empty() {
                words = text;
            }
            if answer.truncated {
                self.note("The model's answer was cut off at its limit.").await?;
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
            self.round(calls, problems).await?;
        }
        Ok(words)
    }

    async fn round(
        &mut self,
        calls: Vec<ExtractedCall>,
        problems: Vec<ExtractProblem>,
    ) -> Result<(), ChatError> {
        let correction = match &problems[..] {
            [] => None,
            problems => {
                let text = unread(problems);
                self.note(&text).await?;
                Some(Message::user(format!("{text}. Write it again, correctly.")))
            }
        };
        if calls.is_empty() {
            self.messages.extend(correction);
            return Ok(());
        }
        let mut written = Vec::with_capacity(calls.len());
        let mut ids = HashSet::new();
        for (index, mut call) in calls.into_iter().enumerate() {
            // The ids of text forms are the model's own words: they may be empty, or the same twice.
            let id = call.id.take().filter(|id| !id.is_empty() && ids.insert(id.clone()));
            let id = id.unwrap_or_else(|| format!("call_{}_{index}", self.messages.len()));
            written.push((id, call));
        }
        let mut native = Vec::with_capacity(written.len());
        for (id, call) in &written {
            // An alias may stand for a tool with secrets.
            let mut request = pipeline::extract::request(call.clone());
            aliases::expand(self.pipeline, &self.caller, &mut request).await?;
            native.push(NativeCall {
                id: id.clone(),
                name: call.tool.clone(),
                arguments: relay::arguments_text(call, &request.tool),
            });
        }
        let message = Message::assistant(String::new(), native);
        self.keep(message).await?;
        for (id, call) in written {
            let reply = self.call(call).await?;
            if let Some(conversation) = self.caller.conversation {
                self.taint.record_result(&self.pipeline.store, conversation, &reply).await?;
            }
            let limit = self.pipeline.config.chat.result_limit;
            let result = relay::result_of(&reply);
            self.keep(Message::tool(id, prompt::capped(&result, limit))).await?;
        }
        // The model learns of what could not be read beside the results of the rest.
        self.messages.extend(correction);
        Ok(())
    }

    async fn keep(&mut self, message: Message) -> Result<(), ChatError> {
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

    async fn note(&self, text: &str) -> Result<(), ChatError> {
        say(self.events, Event::Note(text.to_owned())).await
    }
}

/// Returns what the model and the person are told of calls that could not be read.
fn unread(problems: &[ExtractProblem]) -> String {
    let listed: Vec<_> = problems.iter().map(ToString::to_string).collect();
    format!("A tool call could not be read: {}", listed.join("; "))
}
