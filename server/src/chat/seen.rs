//! What content a chat would hold against a call, without a chat: for a dry run of an attack.

use orion_domain::extract::ExtractedCall;
use orion_domain::{CallId, CallRequest};
use uuid::Uuid;

use super::provenance::{Persons, TaintTracker, devices};
use crate::model::Message;
use crate::pipeline::{Pipeline, validate};
use crate::store::{Label, Provenance};

/// A text that a language model has read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SeenText {
    /// The device that it came from.
    pub device: String,
    /// The tool that read it.
    pub tool: String,
    /// The text.
    pub text: String,
    /// What the person said in the chat.
    pub said: String,
}

/// Returns the untrusted content that may have influenced a call in a chat that has read this text.
#[must_use]
pub fn seen_in_chat(pipeline: &Pipeline, seen: SeenText, request: &CallRequest) -> Provenance {
    let SeenText { device, tool, text, said } = seen;
    let persons = Persons::said(&[Message::user(said)], &devices(pipeline));
    let label = Label { call: CallId::new(Uuid::nil()), tool, device, place: String::new() };
    let taint = TaintTracker::of_text(persons, label, text);
    let written = ExtractedCall {
        tool: request.tool.clone(),
        device: request.device.clone(),
        dry_run: request.dry_run,
        queue: None,
        arguments: request.arguments.clone(),
        untyped: false,
        recovered: false,
        id: None,
    };
    taint.about(&written, validate::target(pipeline, request).ok().as_ref())
}
