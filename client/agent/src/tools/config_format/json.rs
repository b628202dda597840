//! JSON. Numbers that do not fit are kept as text, digit for digit.

use std::borrow::Cow;

use serde_json::Value;

use super::value::{Budget, MAX_DEPTH, too_much};
use super::{Reading, Spot};

pub(super) fn read(text: &str) -> Reading {
    let value = serde_json::from_str::<Value>(&quote_misfits(text));
    let value = match value {
        Ok(value) => value,
        Err(error) => {
            // The place is that in the text as it stands there, if the same is wrong with that.
            let original = serde_json::from_str::<Value>(text).err();
            let original = original.filter(|original| original.line() == error.line());
            let error = original.unwrap_or(error);
            let said = error.to_string();
            let what = said.split(" at line ").next().unwrap_or_default();
            let (line, column) = (error.line().max(1), error.column().max(1));
            return Spot { line, column }.broken(what);
        }
    };
    if fits(&value, &mut Budget::new(), MAX_DEPTH) { Reading::Values(value) } else { too_much() }
}

fn fits(value: &Value, budget: &mut Budget, depth: usize) -> bool {
    let Some(below) = depth.checked_sub(1) else { return false };
    budget.take_text(value.as_str().unwrap_or_default())
        && match value {
            Value::Array(items) => items.iter().all(|item| fits(item, budget, below)),
            Value::Object(map) => {
                map.iter().all(|(key, item)| budget.take_text(key) && fits(item, budget, below))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
        }
}

/// The text with quotes around each number that would lose digits or has no value.
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

/// Whether JSON's reader can hold it, or will say what is wrong with it.
fn number_fits(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    let whole = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if whole {
        let odd = digits.len() > 1 && digits.starts_with('0');
        return odd || number.parse::<i64>().is_ok() || number.parse::<u64>().is_ok();
    }
    number.parse::<f64>().map_or(true, f64::is_finite)
}
