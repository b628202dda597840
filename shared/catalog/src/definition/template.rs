//! The form of a program's arguments. A placeholder is a whole argument, never a part of one.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// One argument of the program, or several that belong together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Part {
    /// A fixed text, or the name of an argument in braces. Of an argument that a call does not give, nothing is
    /// passed on; a list becomes an argument for each of its items.
    One(String),
    /// Arguments that are passed on where the call gives another one.
    Group(Group),
}

/// Arguments of the program that are passed on together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The argument of the call that must be given, and that must not be false.
    pub when: String,
    /// The arguments of the program, as for [`Part::One`].
    pub argv: Vec<String>,
}

/// A text of a definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word<'a> {
    /// As it is.
    Fixed(&'a str),
    /// The value of this argument.
    Argument(&'a str),
}

/// Reads a text of a definition. `None` for one with a brace that is not a placeholder alone.
pub(super) fn word(text: &str) -> Option<Word<'_>> {
    let inside = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
    match inside {
        Some(name) if super::name::is_plain(name) => Some(Word::Argument(name)),
        Some(_) => None,
        None if text.contains(['{', '}', '\0']) => None,
        None => Some(Word::Fixed(text)),
    }
}

/// Returns every text of a form, in order.
pub(super) fn texts(parts: &[Part]) -> impl Iterator<Item = &str> {
    parts.iter().flat_map(|part| match part {
        Part::One(text) => std::slice::from_ref(text).iter().map(String::as_str),
        Part::Group(group) => group.argv.iter().map(String::as_str),
    })
}

/// Returns the arguments of the program, each as the program gets it. `path` returns the text of an argument
/// that is a path.
pub(super) fn fill(
    parts: &[Part],
    arguments: &Map<String, Value>,
    value_of: &impl Fn(&str, &str) -> String,
) -> Vec<String> {
    let mut filled = Vec::new();
    for part in parts {
        match part {
            Part::One(text) => put(text, arguments, value_of, &mut filled),
            Part::Group(Group { when, argv }) => {
                let is_given =
                    arguments.get(when).is_some_and(|value| *value != Value::Bool(false));
                if is_given {
                    argv.iter().for_each(|text| put(text, arguments, value_of, &mut filled));
                }
            }
        }
    }
    filled
}

fn put(
    text: &str,
    arguments: &Map<String, Value>,
    value_of: &impl Fn(&str, &str) -> String,
    filled: &mut Vec<String>,
) {
    match word(text) {
        Some(Word::Fixed(text)) => filled.push(text.to_owned()),
        Some(Word::Argument(name)) => match arguments.get(name) {
            Some(Value::String(text)) => filled.push(value_of(name, text)),
            Some(Value::Array(items)) => {
                let texts = items.iter().filter_map(Value::as_str);
                filled.extend(texts.map(|text| value_of(name, text)));
            }
            Some(Value::Null) | None => {}
            Some(other) => filled.push(other.to_string()),
        },
        // A checked definition has no such text.
        None => {}
    }
}
