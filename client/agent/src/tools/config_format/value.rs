//! Shared by all formats: limits, and numbers that JSON cannot hold.

use serde_json::{Map, Number, Value};

use super::Reading;

/// Maximum depth of values. Many parsers refuse deeper JSON.
pub(super) const MAX_DEPTH: usize = 64;
/// Maximum number of values in a file; repeated values count each time.
const MAX_VALUES: usize = 100_000;
/// Number of values that a map counts as: its first entry allocates space for eleven.
pub(super) const MAP_WEIGHT: usize = 8;
/// Maximum text in a file, in bytes; repeated text counts each time.
const MAX_TEXT_BYTES: usize = 2 * 1024 * 1024;

/// The cost of a value.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Weight {
    /// Number of values, itself included.
    pub(super) values: usize,
    /// Bytes in keys and texts.
    pub(super) text: usize,
    /// Levels of nesting, itself included.
    pub(super) depth: usize,
}

/// The remaining limits.
#[derive(Debug)]
pub(super) struct Budget {
    values: usize,
    text: usize,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { values: MAX_VALUES, text: MAX_TEXT_BYTES }
    }

    /// Subtracts the cost of a value. Returns false if the budget does not suffice.
    pub(super) fn take(&mut self, weight: Weight) -> bool {
        let left = (self.values.checked_sub(weight.values), self.text.checked_sub(weight.text));
        let (Some(values), Some(text)) = left else { return false };
        *self = Self { values, text };
        true
    }

    /// As [`take`](Self::take), for a map without its entries, which costs as much as several values.
    pub(super) fn take_map(&mut self) -> bool {
        self.take(Weight { values: MAP_WEIGHT, text: 0, depth: 1 })
    }

    /// As [`take`](Self::take), for one value without contents.
    pub(super) fn take_text(&mut self, text: &str) -> bool {
        self.take(Weight { values: 1, text: text.len(), depth: 1 })
    }
}

/// Returns the result for too many values, or for too deep ones.
pub(super) fn too_much() -> Reading {
    Reading::TooMuch(format!(
        "It holds more than {MAX_VALUES} values or 2 MiB of text, repeated ones counted each time and maps as {MAP_WEIGHT}, or values {MAX_DEPTH} deep."
    ))
}

/// Returns a number as JSON, or as text where JSON has no such number.
pub(super) fn float(number: f64, written: &str) -> Value {
    Number::from_f64(number).map_or_else(|| Value::from(written), Value::Number)
}

/// Inserts a value under a key. A repeated key gets the list of its values.
pub(super) fn add(map: &mut Map<String, Value>, key: &str, value: Value) {
    match map.get_mut(key) {
        None => drop(map.insert(key.to_owned(), value)),
        Some(Value::Array(values)) => values.push(value),
        Some(one) => *one = Value::Array(vec![one.take(), value]),
    }
}
