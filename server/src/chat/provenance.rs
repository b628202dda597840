//! What strangers may have written into a chat: where it came from, and whether a call that the
//! model makes stands in it. Nothing here guesses: texts are compared, letter by letter.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use orion_catalog::{ToolSpec, find};
use orion_domain::extract::{ExtractedCall, MAX_OUTPUT_BYTES, extract};
use orion_domain::{CallState, CanonicalArguments, ConversationId, DeviceName, Digest, Envelope};
use serde_json::{Map, Value};

use crate::backend::Backend;
use crate::clock::now_ms;
use crate::pipeline::CallView;
use crate::store::{Authorship, CallRow, Label, LabelledContent, Provenance, StoreError};

/// How many bytes of content are kept to compare with, the newest.
const KEPT: usize = 4 * 1024 * 1024;
/// How many labels a card shows, the newest.
const SHOWN: usize = 50;
/// The shortest argument whose occurrence says anything, in characters.
const TELLING: usize = 12;

/// What came into one chat from outside.
#[derive(Debug, Default)]
pub(super) struct TaintTracker {
    /// Content of strangers: it counts for every call.
    content: Vec<Label>,
    /// What devices said themselves: it counts for calls to every other device, because whoever holds
    /// a device may make it say anything.
    told: Vec<Label>,
    texts: Vec<Text>,
}

/// The words of one result, and the digests of the calls that stand in them.
#[derive(Debug)]
struct Text {
    words: String,
    calls: Vec<Digest>,
}

/// The texts of one result.
#[derive(Debug, Default, PartialEq, Eq)]
struct ResultTexts {
    /// What strangers may have written, a line each.
    content: String,
    /// What the agent says itself, a line each.
    own: String,
}

impl TaintTracker {
    /// What came into a chat before.
    pub(super) async fn before(
        backend: &Backend,
        conversation: ConversationId,
    ) -> Result<Self, StoreError> {
        Ok(Self::of(backend.store.labelled_content(conversation, KEPT).await?))
    }

    /// Takes up what was searched for calls when it came, and is not searched again.
    fn of(rows: Vec<LabelledContent>) -> Self {
        let mut heard = Self::default();
        for LabelledContent { label, voice, calls, result } in rows {
            let said = match find(&label.tool) {
                Some((spec, _)) => said(spec, &result),
                None => ResultTexts::default(),
            };
            heard.add(label, voice, said, calls);
        }
        heard
    }

    /// Takes in the result of a call, before the model gets it.
    pub(super) async fn record_result(
        &mut self,
        backend: &Backend,
        conversation: ConversationId,
        reply: &CallView,
    ) -> Result<(), StoreError> {
        let (Some((spec, _)), Some(device)) = (find(&reply.tool), &reply.device) else {
            return Ok(());
        };
        let said = said(spec, &reply.result);
        let row = backend.store.call(&reply.call.to_string()).await?;
        if said == ResultTexts::default() || !is_from_device(&row) {
            return Ok(());
        }
        let place = row.touches.first().and_then(|line| line.split_once(' '));
        let label = Label {
            call: reply.call,
            tool: reply.tool.clone(),
            device: device.to_string(),
            place: place.map(|(_, place)| place.to_owned()).unwrap_or_default(),
        };
        let voice =
            if said.content.is_empty() { Authorship::Device } else { Authorship::Untrusted };
        let calls = search(&said);
        let store = &backend.store;
        store.label_content(conversation, label.clone(), voice, &calls, now_ms()).await?;
        self.add(label, voice, said, calls);
        Ok(())
    }

    fn add(&mut self, label: Label, voice: Authorship, said: ResultTexts, calls: Vec<Digest>) {
        match voice {
            Authorship::Untrusted => self.content.push(label),
            Authorship::Device => {
                self.told.retain(|earlier| earlier.device != label.device);
                self.told.push(label);
            }
        }
        for labels in [&mut self.content, &mut self.told] {
            let surplus = labels.len().saturating_sub(SHOWN);
            labels.drain(..surplus);
        }
        self.texts.push(Text { words: said.content, calls });
        let mut room = KEPT;
        let fits = |text: &&Text| {
            let left = room.checked_sub(text.words.len());
            room = left.unwrap_or(0);
            left.is_some()
        };
        let kept = self.texts.iter().rev().take_while(fits).count();
        self.texts.drain(..self.texts.len() - kept);
    }

    /// What strangers may have had to do with a call to this device.
    pub(super) fn about(&self, call: &ExtractedCall, device: Option<&DeviceName>) -> Provenance {
        let mut strings = Vec::new();
        leaves(&call.arguments, &mut strings);
        let occurs = |value: &str| {
            value.chars().count() >= TELLING && self.texts.iter().any(|text| text.holds(value))
        };
        let mut names: Vec<String> = strings
            .iter()
            .filter(|(_, value)| occurs(value))
            .map(|(name, _)| (*name).to_owned())
            .collect();
        names.dedup();
        let elsewhere = |label: &&Label| device.is_none_or(|name| label.device != name.as_str());
        let others = self.told.iter().filter(elsewhere);
        let content: Vec<_> = others.chain(&self.content).cloned().collect();
        let surplus = content.len().saturating_sub(SHOWN);
        Provenance {
            content: content.into_iter().skip(surplus).collect(),
            occurs: names,
            quoted: self.texts.iter().any(|text| text.quotes(call, digest_of(call), &strings)),
        }
    }
}

impl Text {
    fn holds(&self, value: &str) -> bool {
        self.words.contains(value) || self.words.contains(&escaped(value))
    }

    /// Whether a call stands here: as a call, or as the tool's name with every text of the call.
    fn quotes(&self, call: &ExtractedCall, digest: Digest, strings: &[(&str, &str)]) -> bool {
        let named = !strings.is_empty() && self.words.contains(&call.tool);
        self.calls.contains(&digest) || (named && strings.iter().all(|(_, text)| self.holds(text)))
    }
}

/// A text as it stands inside a JSON string.
fn escaped(text: &str) -> String {
    Value::from(text).to_string().trim_matches('"').to_owned()
}

/// Every text among the arguments, with the name of its argument.
fn leaves<'a>(arguments: &'a Map<String, Value>, into: &mut Vec<(&'a str, &'a str)>) {
    fn walk<'a>(name: &'a str, value: &'a Value, into: &mut Vec<(&'a str, &'a str)>) {
        match value {
            Value::String(text) => into.push((name, text)),
            Value::Array(items) => items.iter().for_each(|item| walk(name, item, into)),
            Value::Object(object) => object.values().for_each(|item| walk(name, item, into)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    arguments.iter().for_each(|(name, value)| walk(name, value, into));
}

/// Whether an answer is a device's. What the backend refuses by itself, and what people answer, is
/// in the backend's own words; what a device said of a preview that came before is not.
fn is_from_device(row: &CallRow) -> bool {
    row.state != CallState::Denied || (row.approval.is_none() && row.decision != "deny")
}

/// What makes two calls the same one here: the tool and its arguments, wherever they are for.
fn digest_of(call: &ExtractedCall) -> Digest {
    let arguments = CanonicalArguments::from_value(&Value::Object(call.arguments.clone()));
    Digest::of_fields("orion.chat.quoted.v1", &[call.tool.as_bytes(), arguments.as_bytes()])
}

/// The calls that stand in the texts of a result.
fn search(said: &ResultTexts) -> Vec<Digest> {
    let found = [&said.content, &said.own].into_iter().flat_map(|text| calls_in(text));
    found.map(|call| digest_of(&call)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// The calls that stand in a text. One that is longer than can be read at once is read in pieces that
/// overlap.
fn calls_in(text: &str) -> Vec<ExtractedCall> {
    #[cfg(test)]
    tests::SEARCHED.with(|bytes| bytes.set(bytes.get() + text.len()));
    let (mut calls, mut start) = (Vec::new(), 0);
    loop {
        let end = text.floor_char_boundary(start + MAX_OUTPUT_BYTES);
        calls.extend(extract(text.get(start..end).unwrap_or_default()).calls);
        if end == text.len() {
            return calls;
        }
        start = text.floor_char_boundary(start + MAX_OUTPUT_BYTES / 2);
    }
}

/// Every text in a result, a line each, by who may have written it: what a tool found, what programs
/// printed and the names that are suggested are strangers'; all else is the agent's.
fn said(spec: &ToolSpec, result: &[u8]) -> ResultTexts {
    fn walk(value: &Value, into: &mut String) {
        match value {
            Value::String(text) => line(text, into),
            Value::Array(items) => items.iter().for_each(|item| walk(item, into)),
            Value::Object(object) => object.values().for_each(|item| walk(item, into)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }
    fn line(text: &str, into: &mut String) {
        if !text.is_empty() {
            into.push_str(text);
            into.push('\n');
        }
    }
    let Ok(envelope) = serde_json::from_slice::<Envelope>(result) else {
        return ResultTexts::default();
    };
    let mut said = ResultTexts::default();
    line(&envelope.message, &mut said.own);
    let is_found = spec.untrusted || (spec.untrusted_preview && envelope.dry_run);
    let found = if is_found { &mut said.content } else { &mut said.own };
    envelope.data.iter().for_each(|data| walk(data, found));
    if let Some(error) = &envelope.error {
        error.details.values().for_each(|value| walk(value, &mut said.own));
        error.suggestions.iter().for_each(|text| line(text, &mut said.content));
    }
    for tail in [&envelope.meta.stdout_tail, &envelope.meta.stderr_tail].into_iter().flatten() {
        line(tail, &mut said.content);
    }
    said
}
