//! What the formats have in common: bounds, and numbers that JSON cannot hold.

use serde_json::{Map, Number, Value};

use super::Reading;

/// Values in values. JSON that is deeper is refused by many who read it.
pub(super) const MAX_DEPTH: usize = 64;
/// Values in one file, repeated ones counted each time.
const MAX_VALUES: usize = 100_000;
/// How many values a map counts as: its first entry makes room for eleven.
pub(super) const MAP_WEIGHT: usize = 8;
/// Text in one file, repeated text counted each time, in bytes.
const MAX_TEXT_BYTES: usize = 2 * 1024 * 1024;

/// What a value takes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Weight {
    /// Itself and the values in it.
    pub(super) values: usize,
    /// Bytes in keys and texts.
    pub(super) text: usize,
    /// Itself and the longest way into it.
    pub(super) depth: usize,
}

/// What may still be taken.
#[derive(Debug)]
pub(super) struct Budget {
    values: usize,
    text: usize,
}

impl Budget {
    pub(super) fn new() -> Self {
        Self { values: MAX_VALUES, text: MAX_TEXT_BYTES }
    }

    /// Takes room for one value more; false where there is none.
    pub(super) fn take(&mut self, weight: Weight) -> bool {
        let left = (self.values.checked_sub(weight.values), self.text.checked_sub(weight.text));
        let (Some(values), Some(text)) = left else { return false };
        *self = Self { values, text };
        true
    }

    /// The same for a map without what is in it, which takes as much as many values.
    pub(super) fn take_map(&mut self) -> bool {
        self.take(Weight { values: MAP_WEIGHT, text: 0, depth: 1 })
    }

    /// The same for one value that holds no others.
    pub(super) fn take_text(&mut self, text: &str) -> bool {
        self.take(Weight { values: 1, text: text.len(), depth: 1 })
    }
}

/// Too many values, or too deep.
pub(super) fn too_much() -> Reading {
    Reading::TooMuch(format!(
        "It holds more than {MAX_VALUES} values or 2 MiB of text, repeated ones counted each time and maps as {MAP_WEIGHT}, or values {MAX_DEPTH} deep."
    ))
}

/// A number as JSON has them, and as text where JSON has none.
pub(super) fn float(number: f64, written: &str) -> Value {
    Number::from_f64(number).map_or_else(|| Value::from(written), Value::Number)
}

/// Puts a value under a key. A key that stands there several times has the list of its values.
pub(super) fn add(map: &mut Map<String, Value>, key: &str, value: Value) {
    match map.get_mut(key) {
        None => drop(map.insert(key.to_owned(), value)),
        Some(Value::Array(values)) => values.push(value),
        Some(one) => *one = Value::Array(vec![one.take(), value]),
    }
}
