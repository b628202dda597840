//! Tracks the untrusted content of a chat: where it came from, and whether a call that the model makes occurs
//! in it. Texts are compared exactly; nothing is guessed.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use orion_catalog::{ToolSpec, find};
use orion_domain::extract::{ExtractedCall, MAX_OUTPUT_BYTES, extract};
use orion_domain::{CallState, CanonicalArguments, ConversationId, DeviceName, Digest, Envelope};
use serde_json::{Map, Value};

use crate::clock::now_ms;
use crate::pipeline::CallView;
use crate::store::{Authorship, CallRow, Label, LabelledContent, Provenance, Store, StoreError};

/// How many bytes of the newest content are kept for comparison.
const MAX_CONTENT_BYTES: usize = 4 * 1024 * 1024;
/// How many of the newest labels an approval card shows.
const MAX_LABELS: usize = 50;
/// Minimum length of an argument whose occurrence is significant, in characters.
const MIN_SIGNIFICANT_CHARS: usize = 12;

/// The untrusted content of one chat.
#[derive(Debug, Default)]
pub(super) struct TaintTracker {
    /// Labels of content that anybody may have written: it taints every call.
    content: Vec<Label>,
    /// Labels of the devices' own messages. They taint calls to every other device, because whoever controls
    /// a device can make it report anything.
    device_reports: Vec<Label>,
    texts: Vec<Text>,
}

/// The content of one result, and the digests of the calls that occur in it.
#[derive(Debug)]
struct Text {
    words: String,
    calls: Vec<Digest>,
}

/// The texts of one result.
#[derive(Debug, Default, PartialEq, Eq)]
struct ResultTexts {
    /// Untrusted content, one text a line.
    content: String,
    /// The agent's own messages, one text a line.
    own: String,
}

impl TaintTracker {
    /// Loads the content of a chat so far.
    pub(super) async fn before(
        store: &Store,
        conversation: ConversationId,
    ) -> Result<Self, StoreError> {
        Ok(Self::of(store.labelled_content(conversation, MAX_CONTENT_BYTES).await?))
    }

    /// Restores content whose calls were extracted when it was received.
    fn of(rows: Vec<LabelledContent>) -> Self {
        let mut tracker = Self::default();
        for LabelledContent { label, voice, calls, result } in rows {
            let texts = match find(&label.tool) {
                Some((spec, _)) => split_texts(spec, &result),
                None => ResultTexts::default(),
            };
            tracker.add(label, voice, texts, calls);
        }
        tracker
    }

    /// Records the result of a call before the model receives it.
    pub(super) async fn record_result(
        &mut self,
        store: &Store,
        conversation: ConversationId,
        reply: &CallView,
    ) -> Result<(), StoreError> {
        let (Some((spec, _)), Some(device)) = (find(&reply.tool), &reply.device) else {
            return Ok(());
        };
        let texts = split_texts(spec, &reply.result);
        let row = store.call(&reply.call.to_string()).await?;
        if texts == ResultTexts::default() || !is_from_device(&row) {
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
            if texts.content.is_empty() { Authorship::Device } else { Authorship::Untrusted };
        let calls = search(&texts);
        store.label_content(conversation, label.clone(), voice, &calls, now_ms()).await?;
        self.add(label, voice, texts, calls);
        Ok(())
    }

    fn add(&mut self, label: Label, voice: Authorship, texts: ResultTexts, calls: Vec<Digest>) {
        match voice {
            Authorship::Untrusted => self.content.push(label),
            Authorship::Device => {
                self.device_reports.retain(|earlier| earlier.device != label.device);
                self.device_reports.push(label);
            }
        }
        for labels in [&mut self.content, &mut self.device_reports] {
            let surplus = labels.len().saturating_sub(MAX_LABELS);
            labels.drain(..surplus);
        }
        self.texts.push(Text { words: texts.content, calls });
        let mut room = MAX_CONTENT_BYTES;
        let fits = |text: &&Text| {
            let left = room.checked_sub(text.words.len());
            room = left.unwrap_or(0);
            left.is_some()
        };
        let kept = self.texts.iter().rev().take_while(fits).count();
        self.texts.drain(..self.texts.len() - kept);
    }

    /// Returns the untrusted content that may have influenced a call to this device.
    pub(super) fn about(&self, call: &ExtractedCall, device: Option<&DeviceName>) -> Provenance {
        let mut strings = Vec::new();
        leaves(&call.arguments, &mut strings);
        let occurs = |value: &str| {
            value.chars().count() >= MIN_SIGNIFICANT_CHARS
                && self.texts.iter().any(|text| text.holds(value))
        };
        let mut names: Vec<String> = strings
            .iter()
            .filter(|(_, value)| occurs(value))
            .map(|(name, _)| (*name).to_owned())
            .collect();
        names.dedup();
        let elsewhere = |label: &&Label| device.is_none_or(|name| label.device != name.as_str());
        let others = self.device_reports.iter().filter(elsewhere);
        let content: Vec<_> = others.chain(&self.content).cloned().collect();
        let surplus = content.len().saturating_sub(MAX_LABELS);
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

    /// Returns whether a call occurs in this content: as a call, or as the tool's name with every string
    /// argument.
    fn quotes(&self, call: &ExtractedCall, digest: Digest, strings: &[(&str, &str)]) -> bool {
        let named = !strings.is_empty() && self.words.contains(&call.tool);
        self.calls.contains(&digest) || (named && strings.iter().all(|(_, text)| self.holds(text)))
    }
}

/// Returns a text as it occurs inside a JSON string.
fn escaped(text: &str) -> String {
    Value::from(text).to_string().trim_matches('"').to_owned()
}

/// Collects every string among the arguments, with the name of its argument.
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

/// Returns whether a result is from a device. The backend itself writes the results of calls that it or a
/// person denied. A device's preview of such a call is still from the device.
fn is_from_device(row: &CallRow) -> bool {
    row.state != CallState::Denied || (row.approval.is_none() && row.decision != "deny")
}

/// Returns the digest of a call's tool and arguments, regardless of the device.
fn digest_of(call: &ExtractedCall) -> Digest {
    let arguments = CanonicalArguments::from_value(&Value::Object(call.arguments.clone()));
    Digest::of_fields("orion.chat.quoted.v1", &[call.tool.as_bytes(), arguments.as_bytes()])
}

/// Returns the digests of the calls that occur in the texts of a result.
fn search(texts: &ResultTexts) -> Vec<Digest> {
    let found = [&texts.content, &texts.own].into_iter().flat_map(|text| calls_in(text));
    found.map(|call| digest_of(&call)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Extracts the calls that occur in a text. A text longer than the extraction limit is read in overlapping
/// pieces.
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

/// Splits the texts of a result by their author. The data of untrusted tools, the output of programs and
/// suggested names are untrusted; all other texts are the agent's.
fn split_texts(spec: &ToolSpec, result: &[u8]) -> ResultTexts {
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
    let mut texts = ResultTexts::default();
    line(&envelope.message, &mut texts.own);
    let is_found = spec.untrusted || (spec.untrusted_preview && envelope.dry_run);
    let found = if is_found { &mut texts.content } else { &mut texts.own };
    envelope.data.iter().for_each(|data| walk(data, found));
    if let Some(error) = &envelope.error {
        error.details.values().for_each(|value| walk(value, &mut texts.own));
        error.suggestions.iter().for_each(|text| line(text, &mut texts.content));
    }
    for tail in [&envelope.meta.stdout_tail, &envelope.meta.stderr_tail].into_iter().flatten() {
        line(tail, &mut texts.content);
    }
    texts
}
