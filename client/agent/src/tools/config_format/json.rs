//! Parses JSON. Numbers that do not fit are kept as text, digit for digit.

use std::borrow::Cow;
use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::value::{Budget, MAX_DEPTH, too_much};
use super::{Position, Reading};

pub(super) fn read(text: &str) -> Reading {
    let as_read = quote_misfits(text);
    // Values take much more memory than their text, so they are counted before any is created.
    let value = match count(&as_read) {
        Ok(false) => return too_much(),
        Ok(true) => serde_json::from_str::<Value>(&as_read),
        Err(error) => Err(error),
    };
    let error = match value {
        Ok(value) => return Reading::Values(value),
        Err(error) => error,
    };
    // The position is that in the original text, if the original has an error in the same line.
    let original = count(text).err().filter(|original| original.line() == error.line());
    let error = original.unwrap_or(error);
    let said = error.to_string();
    let what = said.split(" at line ").next().unwrap_or_default();
    let (line, column) = (error.line().max(1), error.column().max(1));
    Position { line, column }.broken(what)
}

/// Returns whether the values of a text fit the budget.
fn count(text: &str) -> serde_json::Result<bool> {
    let mut budget = Budget::new();
    let mut reader = serde_json::Deserializer::from_str(text);
    let fits = Counted { budget: &mut budget, depth: MAX_DEPTH }.deserialize(&mut reader)?;
    reader.end()?;
    Ok(fits)
}

/// Counts a value and its contents against a budget, and returns whether they fit. Keeps no values.
struct Counted<'a> {
    budget: &'a mut Budget,
    depth: usize,
}

impl Counted<'_> {
    fn text(self, text: &str) -> bool {
        self.depth > 0 && self.budget.take_text(text)
    }

    fn below(&mut self) -> Counted<'_> {
        Counted { budget: &mut *self.budget, depth: self.depth.saturating_sub(1) }
    }
}

impl<'de> DeserializeSeed<'de> for Counted<'_> {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<bool, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Counted<'_> {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value of JSON")
    }

    fn visit_unit<E>(self) -> Result<bool, E> {
        Ok(self.text(""))
    }

    fn visit_bool<E>(self, _: bool) -> Result<bool, E> {
        Ok(self.text(""))
    }

    fn visit_i64<E>(self, _: i64) -> Result<bool, E> {
        Ok(self.text(""))
    }

    fn visit_u64<E>(self, _: u64) -> Result<bool, E> {
        Ok(self.text(""))
    }

    fn visit_f64<E>(self, _: f64) -> Result<bool, E> {
        Ok(self.text(""))
    }

    fn visit_str<E>(self, text: &str) -> Result<bool, E> {
        Ok(self.text(text))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<bool, A::Error> {
        let mut fits = self.depth > 0 && self.budget.take_text("");
        while let Some(item) = items.next_element_seed(self.below())? {
            fits &= item;
        }
        Ok(fits)
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<bool, A::Error> {
        let mut fits = self.depth > 0 && self.budget.take_map();
        // A key counts like a value beside it.
        while let Some(key) = entries.next_key_seed(Counted { depth: 1, ..self.below() })? {
            fits &= key & entries.next_value_seed(self.below())?;
        }
        Ok(fits)
    }
}

/// Returns the text with quotes around each number that would lose digits or has no JSON value.
fn quote_misfits(text: &str) -> Cow<'_, str> {
    let mut quoted = String::new();
    let mut done = 0;
    let (mut in_text, mut escaped, mut at) = (false, false, 0);
    let bytes = text.as_bytes();
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += 1;
        if in_text {
            (in_text, escaped) = (escaped || byte != b'"', !escaped && byte == b'\\');
        } else if byte == b'"' {
            in_text = true;
        } else if byte == b'-' || byte.is_ascii_digit() {
            let part = |byte: &u8| matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.' | b'e' | b'E');
            at += bytes.get(at..).unwrap_or_default().iter().take_while(|it| part(it)).count();
            let number = text.get(start..at).unwrap_or_default();
            if !number_fits(number) {
                quoted.push_str(text.get(done..start).unwrap_or_default());
                quoted.extend(["\"", number, "\""]);
                done = at;
            }
        }
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    quoted.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(quoted)
}

/// Returns whether the JSON parser can hold a number, or will report it as invalid.
fn number_fits(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole {
        let odd = digits.len() > 1 && digits.starts_with('0');
        return odd || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    }
    number.parse::<f64>().map_or(true, f64::is_finite)
}
