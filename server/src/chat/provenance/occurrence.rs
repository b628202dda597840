//! Whether a call or its arguments occur in untrusted content.

use std::collections::BTreeSet;

use orion_domain::extract::{ExtractedCall, MAX_OUTPUT_BYTES, occurrences};
use orion_domain::{CanonicalArguments, Digest, json};
use serde_json::{Map, Value};

use super::copied::letters;
use super::texts::ResultTexts;
use crate::store::Label;

/// The content of one result, and the digests of the calls that occur in it.
#[derive(Debug)]
pub(super) struct Text {
    pub(super) label: Label,
    words: String,
    /// The messages of the device's agent.
    own: String,
    calls: Vec<Digest>,
}

impl Text {
    /// Keeps at most so many bytes of each kind of text.
    pub(super) fn new(label: Label, texts: ResultTexts, calls: Vec<Digest>, most: usize) -> Self {
        let ResultTexts { content: mut words, mut own } = texts;
        for text in [&mut words, &mut own] {
            text.truncate(text.floor_char_boundary(most));
        }
        Self { label, words, own, calls }
    }

    pub(super) fn size(&self) -> usize {
        self.words.len() + self.own.len()
    }

    /// Returns the letters and digits of all texts.
    pub(super) fn letters(&self) -> String {
        format!("{}{}", letters(&self.words), letters(&self.own))
    }

    pub(super) fn holds(&self, value: &str) -> bool {
        self.words.contains(value) || self.words.contains(&escaped(value))
    }

    /// Returns whether a call occurs in this content: as a call, or as the tool's name with every string
    /// argument.
    pub(super) fn quotes(
        &self,
        call: &ExtractedCall,
        digest: Digest,
        strings: &[(&str, &str)],
    ) -> bool {
        let named = !strings.is_empty() && self.words.contains(&call.tool);
        self.calls.contains(&digest) || (named && strings.iter().all(|(_, text)| self.holds(text)))
    }
}

/// Returns a text as it occurs inside a JSON string.
fn escaped(text: &str) -> String {
    Value::from(text).to_string().trim_matches('"').to_owned()
}

/// Collects every string among the arguments, with the name of its argument.
pub(super) fn leaves<'a>(arguments: &'a Map<String, Value>, into: &mut Vec<(&'a str, &'a str)>) {
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

/// Returns the digest of a call's tool and arguments, regardless of the device, and of whether the form that it
/// is written in has types or only texts.
pub(super) fn digest_of(call: &ExtractedCall) -> Digest {
    let value = |text: &String| json::parse(text).unwrap_or_else(|_| text.as_str().into());
    let arguments = call.arguments.iter().map(|(name, argument)| match argument {
        Value::String(text) => (name.clone(), value(text)),
        other @ (Value::Null
        | Value::Bool(_)
        | Value::Number(_)
        | Value::Array(_)
        | Value::Object(_)) => (name.clone(), other.clone()),
    });
    let arguments = CanonicalArguments::from_value(&Value::Object(arguments.collect()));
    Digest::of_fields("orion.chat.quoted.v2", &[call.tool.as_bytes(), arguments.as_bytes()])
}

/// Returns the digests of the calls that occur in the texts of a result.
pub(super) fn search(texts: &ResultTexts) -> Vec<Digest> {
    let found = [&texts.content, &texts.own].into_iter().flat_map(|text| calls_in(text));
    found.map(|call| digest_of(&call)).collect::<BTreeSet<_>>().into_iter().collect()
}

/// Extracts the calls that occur in a text. A text longer than the extraction limit is read in overlapping
/// pieces.
pub(super) fn calls_in(text: &str) -> Vec<ExtractedCall> {
    #[cfg(test)]
    super::tests::SEARCHED.with(|bytes| bytes.set(bytes.get() + text.len()));
    let (mut calls, mut start) = (Vec::new(), 0);
    loop {
        let end = text.floor_char_boundary(start + MAX_OUTPUT_BYTES);
        calls.extend(occurrences(text.get(start..end).unwrap_or_default()));
        if end == text.len() {
            return calls;
        }
        start = text.floor_char_boundary(start + MAX_OUTPUT_BYTES / 2);
    }
}
