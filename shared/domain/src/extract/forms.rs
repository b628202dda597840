//! The forms of calls that are not one JSON value: a name and its arguments between tokens, in XML, or as a
//! Python expression. Each parser reads at one place and says where it ended, so that no byte is read often.

mod gemma;
mod harmony;
mod python;
mod tokens;
mod xml;

use serde_json::{Map, Value};

use super::measure::measure;
use super::{ExtractProblem, ExtractedCall, shape};

pub(super) use gemma::gemma;
pub(super) use harmony::{Message, message};
pub(super) use python::{bare, code, is_broken, list, starts_list};
pub(super) use tokens::{deepseek, kimi, mistral};
pub(super) use xml::{DSML, FUNCTION, INVOKE, Xml, glm, xml};

/// The maximum length of a name or a header, in bytes.
const MAX_NAME_BYTES: usize = 128;

/// One call, or why it could not be read as one.
pub(super) type Reading = Result<ExtractedCall, ExtractProblem>;

/// What stands at a place in one of the forms.
pub(super) struct Parsed {
    /// The byte after it.
    pub(super) end: usize,
    /// The calls.
    pub(super) readings: Vec<Reading>,
}

impl Parsed {
    fn one(end: usize, reading: Reading) -> Self {
        Self { end, readings: vec![reading] }
    }

    /// What begins as a form and does not go on as one.
    fn broken(start: usize, at: usize, form: &'static str, why: &'static str) -> Self {
        Self::one(at, Err(ExtractProblem::NotUnderstood { start, at, form, why }))
    }
}

/// Returns whether a text can be the name of a tool.
pub(super) fn is_name(name: &str) -> bool {
    let part = |letter: char| letter.is_ascii_alphanumeric() || "_-.:/".contains(letter);
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(part)
}

/// Returns the name without the namespace that a template puts before every function.
fn plain(name: &str) -> &str {
    let name = name.strip_prefix("functions.").unwrap_or(name);
    name.strip_prefix("default_api.").unwrap_or(name)
}

/// A place in a text.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Cursor<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn skip_space(&mut self) {
        let rest = self.rest();
        self.at += rest.len() - rest.trim_start_matches([' ', '\t', '\r', '\n']).len();
    }

    fn eat(&mut self, token: &str) -> bool {
        let is_there = self.rest().starts_with(token);
        self.at += if is_there { token.len() } else { 0 };
        is_there
    }

    /// Reads up to a token and past it.
    fn until(&mut self, token: &str) -> Option<&'a str> {
        let rest = self.rest();
        let length = rest.find(token)?;
        self.at += length + token.len();
        rest.get(..length)
    }

    /// Reads a short text up to a token and past it.
    fn header(&mut self, token: &str) -> Option<&'a str> {
        let rest = self.rest();
        let most = rest.floor_char_boundary(MAX_NAME_BYTES + token.len());
        let length = rest.get(..most)?.find(token)?;
        self.at += length + token.len();
        rest.get(..length)
    }

    /// Reads letters, digits and the other characters of names.
    fn word(&mut self, also: &str) -> &'a str {
        let rest = self.rest();
        let part = |letter: char| letter.is_ascii_alphanumeric() || also.contains(letter);
        let length = rest.find(|letter| !part(letter)).unwrap_or(rest.len());
        self.at += length;
        rest.get(..length).unwrap_or_default()
    }

    /// Reads one JSON object. The error is where it breaks.
    fn object(&mut self) -> Result<&'a str, usize> {
        if !self.rest().starts_with('{') {
            return Err(self.at);
        }
        let end = measure(self.text.as_bytes(), self.at).end.map_err(|end| end.at)?;
        let json = self.text.get(self.at..end).unwrap_or_default();
        self.at = end;
        Ok(json)
    }
}

/// Returns the call with arguments that are a JSON object.
fn with_json(name: &str, arguments: &str, id: Option<&str>, start: usize) -> Reading {
    named(name, start)?;
    let call = shape::native(name, arguments)?;
    Ok(ExtractedCall { id: id.map(str::to_owned), ..call })
}

/// Returns the call with arguments that have their types.
fn with_values(name: &str, arguments: Map<String, Value>, start: usize) -> Reading {
    named(name, start)?;
    shape::with_values(name, arguments)
}

/// Returns the call with arguments that are text, whatever their types are.
fn with_texts(name: &str, arguments: Map<String, Value>, start: usize) -> Reading {
    named(name, start)?;
    shape::with_texts(name, arguments)
}

fn named(name: &str, start: usize) -> Result<(), ExtractProblem> {
    if is_name(name) { Ok(()) } else { Err(ExtractProblem::NotAName { start }) }
}
