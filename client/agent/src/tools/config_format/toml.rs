//! Parses TOML. Dates and times become text.

use serde_json::{Map, Value};

use super::value::{Budget, MAX_DEPTH, float, too_much};
use super::{Position, Reading};

/// Maximum number of `=`, `,` and `[` in a file. The library creates all values at once, with about four
/// hundred bytes each, before they can be counted.
const MAX_SEPARATORS: usize = 30_000;

pub(super) fn read(text: &str) -> Reading {
    if memchr::memchr3_iter(b'=', b',', b'[', text.as_bytes()).count() > MAX_SEPARATORS {
        return Reading::TooMuch(format!(
            "It holds more than {MAX_SEPARATORS} `=`, `,` and `[`, up to which TOML is read as values."
        ));
    }
    let table = match text.parse::<toml::Table>() {
        Ok(table) => table,
        Err(error) => {
            let at = error.span().map_or(text.len(), |span| span.start);
            return Position::of(text, at).broken(error.message());
        }
    };
    let mut budget = Budget::new();
    let values = json(toml::Value::Table(table), &mut budget, MAX_DEPTH);
    values.map_or_else(too_much, Reading::Values)
}

/// Converts a value. `None` if the limits are exceeded.
fn json(value: toml::Value, budget: &mut Budget, depth: usize) -> Option<Value> {
    let below = depth.checked_sub(1)?;
    if !budget.take_text(value.as_str().unwrap_or_default()) {
        return None;
    }
    Some(match value {
        toml::Value::String(text) => Value::from(text),
        toml::Value::Integer(number) => Value::from(number),
        toml::Value::Float(number) => float(number, &number.to_string()),
        toml::Value::Boolean(truth) => Value::from(truth),
        toml::Value::Datetime(at) => Value::from(at.to_string()),
        toml::Value::Array(items) => {
            let items = items.into_iter().map(|item| json(item, budget, below));
            Value::Array(items.collect::<Option<_>>()?)
        }
        toml::Value::Table(table) => {
            let mut map = Map::new();
            for (key, value) in table {
                if !budget.take_text(&key) {
                    return None;
                }
                map.insert(key, json(value, budget, below)?);
            }
            Value::Object(map)
        }
    })
}
