//! Assembles native tool calls from fragments.
//!
//! Servers disagree on almost everything here: how a fragment names its call, how often the name comes,
//! whether arguments are text or an object. A fragment belongs to the call of its index, else of its id, else
//! of its position. It begins a new call where it cannot belong to that one.

#[cfg(test)]
mod tests;

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::model::NativeCall;

/// A longer id is replaced by a generated one.
const MAX_ID_BYTES: usize = 128;

/// A fragment of a call.
#[derive(Debug, Default)]
pub(super) struct Fragment {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Fragment {
    /// Parses an element of `tool_calls`, or a legacy `function_call`.
    pub(super) fn from_value(value: &Value) -> Self {
        let function = value.get("function").filter(|inner| inner.is_object()).unwrap_or(value);
        let arguments = function.get("arguments").or_else(|| function.get("parameters"));
        Self {
            index: value.get("index").and_then(|index| {
                index.as_u64().or_else(|| index.as_str().and_then(|text| text.parse().ok()))
            }),
            id: value.get("id").map(text).unwrap_or_default(),
            name: function.get("name").map(text).unwrap_or_default(),
            arguments: arguments.map(text).unwrap_or_default(),
        }
    }
}

impl Fragment {
    /// Creates the beginning of the call at this index.
    pub(super) fn named(index: Option<u64>, id: &str, name: &str) -> Self {
        Self { index, id: id.to_owned(), name: name.to_owned(), arguments: String::new() }
    }

    /// Creates more of the arguments of the call at this index.
    pub(super) fn more(index: Option<u64>, arguments: &str) -> Self {
        Self { index, arguments: arguments.to_owned(), ..Self::default() }
    }

    /// Returns the fragment with these arguments.
    pub(super) fn with_arguments(self, arguments: &str) -> Self {
        Self { arguments: arguments.to_owned(), ..self }
    }
}

/// Returns a string as it is, null as an empty text, anything else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// The calls assembled so far.
#[derive(Debug, Default)]
pub(super) struct Calls {
    known: Vec<String>,
    partial: Vec<Partial>,
}

#[derive(Debug, Default)]
struct Partial {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
    brackets: Brackets,
}

impl Calls {
    /// Creates an empty list. `known` are the names of the offered tools: they distinguish a name in pieces
    /// from the name of a second call.
    pub(super) fn new(known: Vec<String>) -> Self {
        Self { known, partial: Vec::new() }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.partial.is_empty()
    }

    /// Returns how many calls there are.
    pub(super) fn len(&self) -> u64 {
        u64::try_from(self.partial.len()).unwrap_or(u64::MAX)
    }

    /// Returns whether there is a call at this index.
    pub(super) fn has(&self, index: Option<u64>) -> bool {
        self.partial.iter().any(|call| call.index == index)
    }

    /// Sets the whole arguments of the call at this index, which came in pieces before. Returns how many more
    /// bytes are held.
    pub(super) fn replace(&mut self, index: Option<u64>, arguments: &str) -> usize {
        let Some(call) = self.partial.iter_mut().rfind(|call| call.index == index) else {
            return 0;
        };
        if call.arguments == arguments || arguments.is_empty() {
            return 0;
        }
        let more = arguments.len().saturating_sub(call.arguments.len());
        call.arguments.clear();
        call.brackets = Brackets::default();
        call.append(arguments);
        more
    }

    /// Adds a fragment; `place` is its position in a list of several. Returns how many more bytes are held.
    pub(super) fn push(&mut self, fragment: Fragment, place: Option<u64>) -> usize {
        const CALL_BYTES: usize = size_of::<Partial>();
        let found = self.find(&fragment, place);
        let begins = found
            .and_then(|at| self.partial.get(at))
            .is_none_or(|call| self.begins_new(call, &fragment));
        if begins {
            let mut call = Partial {
                index: fragment.index.or(place),
                id: fragment.id,
                name: fragment.name,
                ..Partial::default()
            };
            call.append(&fragment.arguments);
            let held = CALL_BYTES + call.id.len() + call.name.len() + call.arguments.len();
            self.partial.push(call);
            return held;
        }
        let continues = found
            .and_then(|at| self.partial.get(at))
            .is_some_and(|call| self.continues_name(&call.name, &fragment.name));
        let Some(call) = found.and_then(|at| self.partial.get_mut(at)) else { return 0 };
        let mut held = fragment.arguments.len();
        if call.id.is_empty() {
            held += fragment.id.len();
            call.id = fragment.id;
        }
        if continues {
            held += fragment.name.len();
            call.name.push_str(&fragment.name);
        }
        call.append(&fragment.arguments);
        held
    }

    /// Returns the call that the fragment refers to.
    fn find(&self, fragment: &Fragment, place: Option<u64>) -> Option<usize> {
        if let Some(index) = fragment.index {
            return self.partial.iter().rposition(|call| call.index == Some(index));
        }
        if !fragment.id.is_empty()
            && let Some(at) = self.partial.iter().rposition(|call| call.id == fragment.id)
        {
            return Some(at);
        }
        if let Some(place) = place {
            return self.partial.iter().rposition(|call| call.index == Some(place));
        }
        self.partial.len().checked_sub(1)
    }

    /// Returns whether the fragment cannot belong to `call`.
    fn begins_new(&self, call: &Partial, fragment: &Fragment) -> bool {
        if fragment.name.is_empty() || call.name.is_empty() {
            return false;
        }
        if !fragment.id.is_empty() && !call.id.is_empty() && fragment.id != call.id {
            return true;
        }
        if fragment.name != call.name && !self.continues_name(&call.name, &fragment.name) {
            return true;
        }
        if !call.brackets.closed_with_content() {
            return false;
        }
        let more = fragment.arguments.trim();
        if more.is_empty() {
            // A name alone after a complete call: the index or id says that it repeats that call, else it
            // begins another one. A call that stays empty is dropped at the end.
            return fragment.index.is_none() && fragment.id.is_empty();
        }
        more != call.arguments.trim()
    }

    fn continues_name(&self, so_far: &str, more: &str) -> bool {
        !more.is_empty()
            && !self.known.iter().any(|name| name == so_far)
            && self
                .known
                .iter()
                .any(|name| name.strip_prefix(so_far).is_some_and(|rest| rest.starts_with(more)))
    }

    /// Returns the calls, each with a unique id.
    pub(super) fn finish(self) -> Vec<NativeCall> {
        let mut calls: Vec<NativeCall> = Vec::new();
        let mut ids = HashSet::new();
        for partial in self.partial {
            let arguments = settle(&partial.arguments);
            let nothing = partial.id.is_empty() && arguments.trim().is_empty();
            let repeats = calls.last().is_some_and(|last| last.name == partial.name);
            if nothing && (partial.name.is_empty() || (repeats && partial.index.is_none())) {
                continue;
            }
            let mut id = partial.id;
            let mut number = calls.len();
            while id.trim().is_empty() || id.len() > MAX_ID_BYTES || ids.contains(&id) {
                number += 1;
                id = format!("call_{number}");
            }
            ids.insert(id.clone());
            calls.push(NativeCall { id, name: partial.name.trim().to_owned(), arguments });
        }
        calls
    }
}

impl Partial {
    fn append(&mut self, more: &str) {
        self.arguments.push_str(more);
        self.brackets.read(more);
    }
}

/// Merges arguments that came in several objects: an empty object before the real one is a placeholder, and
/// the same object twice is a repetition. Anything else stays as the model wrote it.
fn settle(arguments: &str) -> String {
    let mut stream = serde_json::Deserializer::from_str(arguments).into_iter();
    let mut values: Vec<(&str, Map<String, Value>)> = Vec::new();
    let mut start = 0;
    while let Some(value) = stream.next() {
        let Ok(value) = value else { return arguments.to_owned() };
        let end = stream.byte_offset();
        values.push((arguments.get(start..end).unwrap_or_default().trim(), value));
        start = end;
    }
    let mut filled = values.iter().filter(|(_, value)| !value.is_empty());
    match filled.next() {
        // The text is kept as written, so that a duplicate name in it is still detected.
        Some((text, first)) if values.len() > 1 && filled.all(|(_, other)| other == first) => {
            (*text).to_owned()
        }
        _ => arguments.to_owned(),
    }
}

/// The bracket state at the end of a JSON text, so that its end is detected without reading it again.
#[derive(Debug, Default)]
struct Brackets {
    depth: usize,
    in_string: bool,
    escaped: bool,
    content: bool,
}

impl Brackets {
    fn read(&mut self, text: &str) {
        for byte in text.bytes() {
            if self.in_string {
                self.in_string = self.escaped || byte != b'"';
                self.escaped = byte == b'\\' && !self.escaped;
                continue;
            }
            match byte {
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                b'"' => {
                    self.in_string = true;
                    self.content = true;
                }
                _ => {}
            }
        }
    }

    const fn closed_with_content(&self) -> bool {
        self.content && self.depth == 0 && !self.in_string
    }
}
