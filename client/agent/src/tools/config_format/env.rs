//! Parses files of environment variables. Keeps `$NAME` as written: the only values to expand it with would
//! be those of the agent's own environment.

use serde_json::{Map, Value};

use super::value::{Budget, too_much};
use super::{Position, Reading};

pub(super) fn read(text: &str) -> Reading {
    let mut map = Map::new();
    let mut budget = Budget::new();
    let mut rest = text;
    while !rest.is_empty() {
        let at = text.len() - rest.len();
        match variable(rest) {
            Ok((variable, after)) => {
                if let Some((key, value)) = variable {
                    if !(budget.take_text(key) && budget.take_text(&value)) {
                        return too_much();
                    }
                    map.insert(key.to_owned(), Value::from(value));
                }
                rest = after;
            }
            Err(what) => return Position::of(text, at).broken(what),
        }
    }
    Reading::Values(Value::Object(map))
}

/// The variable in the first line of a text, if any, and the text after it.
type Variable<'a> = (Option<(&'a str, String)>, &'a str);

fn variable(text: &str) -> Result<Variable<'_>, &'static str> {
    let (line, after) = text.split_once('\n').unwrap_or((text, ""));
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok((None, after));
    }
    let assigned = line.strip_prefix("export ");
    let named = assigned.unwrap_or(line).trim_start();
    let Some((key, _)) = named.split_once('=') else {
        // `export A B` only exports variables that others have set.
        return if assigned.is_some_and(|it| it.split_whitespace().all(is_name)) {
            Ok((None, after))
        } else {
            Err("no = after a variable's name")
        };
    };
    let key = key.trim_end();
    if !is_name(key) {
        return Err(
            "the name of a variable is letters, digits and _ . -, and begins with no digit",
        );
    }
    let value = text.split_once('=').map_or("", |(_, value)| value);
    let value = value.trim_start_matches([' ', '\t']);
    match value.chars().next() {
        Some(quote @ ('"' | '\'')) => {
            let (value, rest) = quoted(value.get(1..).unwrap_or_default(), quote)?;
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            let line = line.trim();
            if !line.is_empty() && !line.starts_with('#') {
                return Err("something follows the quotes around a value");
            }
            Ok((Some((key, value)), after))
        }
        _ => {
            let (line, _) = value.split_once('\n').unwrap_or((value, ""));
            let end = line.find(" #").or_else(|| line.find("\t#")).unwrap_or(line.len());
            let line = if line.starts_with('#') { "" } else { line.get(..end).unwrap_or(line) };
            Ok((Some((key, line.trim().to_owned())), after))
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_')
        && text.chars().all(|it| it.is_ascii_alphanumeric() || matches!(it, '_' | '.' | '-'))
}

/// Returns the value up to the closing quote, which may be on a later line, and the text after it.
fn quoted(text: &str, quote: char) -> Result<(String, &str), &'static str> {
    let mut value = String::new();
    let mut rest = text.char_indices();
    while let Some((at, it)) = rest.next() {
        match it {
            it if it == quote => {
                return Ok((value, text.get(at + 1..).unwrap_or_default()));
            }
            '\\' if quote == '"' => match rest.next() {
                Some((_, 'n')) => value.push('\n'),
                Some((_, 'r')) => value.push('\r'),
                Some((_, 't')) => value.push('\t'),
                Some((_, it @ ('"' | '\\' | '$' | '`'))) => value.push(it),
                Some((_, it)) => value.extend(['\\', it]),
                None => break,
            },
            it => value.push(it),
        }
    }
    Err("a value's quotes have no end")
}
