//! Native tool calls, put together from fragments.
//!
//! Servers disagree on almost everything here: whether a fragment says which call it belongs to and
//! how, whether the name comes once or each time, whether arguments are text or an object. A
//! fragment goes where its index, then its id, then its place says; it begins a new call where it
//! cannot belong to the one that it points to.

use std::collections::HashSet;

use serde_json::{Map, Value};

use crate::model::NativeCall;

/// A longer id is replaced by one of ours.
const MAX_ID_BYTES: usize = 128;

/// A piece of a call as it stands in the stream.
#[derive(Debug, Default)]
pub(super) struct Fragment {
    index: Option<u64>,
    id: String,
    name: String,
    arguments: String,
}

impl Fragment {
    /// Reads an element of `tool_calls`, or a legacy `function_call`.
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

/// A string as itself, null as nothing, anything else as JSON.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => value.to_string(),
    }
}

/// The calls so far.
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
    /// No calls yet. `known` are the names of the tools that were offered: a name that comes in
    /// pieces is told by them from the name of a second call.
    pub(super) fn new(known: Vec<String>) -> Self {
        Self { known, partial: Vec::new() }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.partial.is_empty()
    }

    /// Takes a fragment; `place` is its place in a list of several. Gives how many bytes more are
    /// held.
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

    /// Where the fragment points to.
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

    /// Whether the fragment cannot belong to `call`.
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
            // The name alone, after a whole call: the same call again where something says so, else
            // the start of another. One that stays empty is dropped at the end.
            return fragment.index.is_none() && fragment.id.is_empty();
        }
        more != call.arguments.trim()
    }

    fn continues_name(&self, so_far: &str, more: &str) -> bool {
        !more.is_empty()
            && !self.known.iter().any(|name| name == so_far)
            && self.known.iter().any(|name| {
                name.strip_prefix(so_far).is_some_and(|rest| rest.starts_with(more))
            })
    }

    /// The calls, each with an id of its own.
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

/// Arguments in one piece: an empty object before the real one is a place holder, and the same
/// object twice is a repeat. Anything else stays as the model gave it.
fn settle(arguments: &str) -> String {
    let values: Result<Vec<Map<String, Value>>, _> =
        serde_json::Deserializer::from_str(arguments).into_iter().collect();
    let Ok(values) = values else { return arguments.to_owned() };
    let mut filled = values.iter().filter(|value| !value.is_empty());
    match filled.next() {
        Some(first) if values.len() > 1 && filled.all(|other| other == first) => {
            serde_json::to_string(first).unwrap_or_else(|_| arguments.to_owned())
        }
        _ => arguments.to_owned(),
    }
}

/// Where in a JSON text the last byte is, so that its end is known without reading it again.
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Each element is one delta's `tool_calls`.
    fn read(deltas: &[Value]) -> Vec<(String, String, String)> {
        let mut calls = Calls::new(vec!["list_directory".to_owned(), "read_file".to_owned()]);
        for delta in deltas {
            let list = delta.as_array().unwrap();
            for (place, element) in (0..).zip(list) {
                calls.push(Fragment::from_value(element), (list.len() > 1).then_some(place));
            }
        }
        calls
            .finish()
            .into_iter()
            .map(|call| (call.id, call.name, call.arguments))
            .collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    fn one(id: &str) -> Vec<(String, String, String)> {
        vec![call(id, "read_file", r#"{"path":"a"}"#)]
    }

    #[test]
    fn one_call_is_one_call_however_it_comes() {
        for (deltas, id) in [
            (json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":""}}], [{"index":0,"function":{"arguments":"{\"pa"}}], [{"index":0,"function":{"arguments":"th\":\"a\"}"}}]]), "x"),
            // No index, id only at first.
            (json!([[{"id":"x","function":{"name":"read_file"}}], [{"function":{"arguments":"{\"path\":"}}], [{"function":{"arguments":"\"a\"}"}}]]), "x"),
            // The name and the id in each fragment.
            (json!([[{"id":"x","function":{"name":"read_file","arguments":"{\"path\":"}}], [{"id":"x","function":{"name":"read_file","arguments":"\"a\"}"}}], [{"id":"x","function":{"name":"read_file","arguments":""}}]]), "x"),
            // The name in each fragment and no id at all, and once more at the end.
            (json!([[{"id":null,"function":{"name":"read_file","arguments":"{\"path\":"}}], [{"id":"","function":{"name":"read_file","arguments":"\"a\"}"}}], [{"function":{"name":"read_file","arguments":null}}]]), "call_1"),
            // The name in pieces.
            (json!([[{"index":0,"function":{"name":"read_"}}], [{"index":0,"function":{"name":"file","arguments":"{\"path\":\"a\"}"}}]]), "call_1"),
            // An object for arguments, a number for an id, an index as text.
            (json!([[{"index":"0","id":7,"function":{"name":"read_file","arguments":{"path":"a"}}}]]), "7"),
            // An empty object first.
            (json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":{}}}], [{"index":0,"function":{"arguments":"{\"path\":\"a\"}"}}]]), "x"),
            // All of it again at the end.
            (json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}], [{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}]]), "x"),
            // A new id in each fragment, but no name.
            (json!([[{"id":"x","function":{"name":"read_file","arguments":"{\"path\":"}}], [{"id":"y","function":{"arguments":"\"a\"}"}}]]), "x"),
            // The id after the name; no `function` around.
            (json!([[{"index":0,"name":"read_file"}], [{"index":0,"id":"x","arguments":"{\"path\":\"a\"}"}]]), "x"),
        ] {
            assert_eq!(read(deltas.as_array().unwrap()), one(id), "{deltas}");
        }
    }

    #[test]
    fn two_calls_are_two_calls_however_they_come() {
        let (first, second) = (r#"{"path":"a"}"#, r#"{"path":"b"}"#);
        for (deltas, ids, name) in [
            // Taking turns.
            (json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\""}}], [{"index":1,"id":"y","function":{"name":"read_file","arguments":"{\"pa"}}], [{"index":0,"function":{"arguments":":\"a\"}"}}, {"index":1,"function":{"arguments":"th\":\"b\"}"}}]]), ["x", "y"], "read_file"),
            // One id for both.
            (json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}, {"index":1,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"b\"}"}}]]), ["x", "call_2"], "read_file"),
            // One index for both.
            (json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}], [{"index":0,"id":"y","function":{"name":"read_file","arguments":"{\"path\":"}}], [{"index":0,"function":{"arguments":"\"b\"}"}}]]), ["x", "y"], "read_file"),
            // Neither index nor id, the same tool.
            (json!([[{"function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}], [{"function":{"name":"read_file","arguments":"{\"path\":\"b\"}"}}]]), ["call_1", "call_2"], "read_file"),
            (json!([[{"function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}], [{"function":{"name":"read_file"}}], [{"function":{"arguments":"{\"path\":\"b\"}"}}]]), ["call_1", "call_2"], "read_file"),
            // The same in one list, and a different tool.
            (json!([[{"function":{"name":"read_file","arguments":{"path":"a"}}}, {"function":{"name":"list_directory","arguments":{"path":"b"}}}]]), ["call_1", "call_2"], "list_directory"),
            // One id and one index for two whole calls.
            (json!([[{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"a\"}"}}], [{"index":0,"id":"x","function":{"name":"read_file","arguments":"{\"path\":\"b\"}"}}]]), ["x", "call_2"], "read_file"),
        ] {
            assert_eq!(
                read(deltas.as_array().unwrap()),
                [call(ids[0], "read_file", first), call(ids[1], name, second)],
                "{deltas}"
            );
        }
    }

    #[test]
    fn an_id_made_here_is_not_one_that_the_server_gave() {
        let deltas = json!([[{"index":0,"id":"call_2","function":{"name":"read_file","arguments":"{}"}}, {"index":1,"function":{"name":"read_file","arguments":"{}"}}]]);
        assert_eq!(
            read(deltas.as_array().unwrap()),
            [call("call_2", "read_file", "{}"), call("call_3", "read_file", "{}")]
        );
    }

    #[test]
    fn what_is_no_json_stays_for_the_pipeline_to_refuse() {
        let deltas = json!([[{"index":0,"function":{"name":"read_file","arguments":"{\"path\":\"a\"} and more"}}]]);
        assert_eq!(
            read(deltas.as_array().unwrap()),
            [call("call_1", "read_file", "{\"path\":\"a\"} and more")]
        );
        assert_eq!(
            read(&[json!([{"index":0,"function":{"arguments":"{\"path\":\"a\"}"}}])]),
            [call("call_1", "", "{\"path\":\"a\"}")]
        );
    }
}
