//! Parses JSON strictly: one value, no duplicate name in an object, bounded nesting. Every JSON parser
//! agrees on such input. Call arguments that arrive as text are parsed here, so that what a person or a
//! rule saw is what runs.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Value};

/// The maximum nesting of brackets.
pub const MAX_DEPTH: u32 = 64;
/// The maximum number of characters of a name in a message.
const SHOWN: usize = 64;

/// Why a text was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum JsonError {
    /// An object has this name twice; parsers disagree on which value counts.
    #[error("the name \"{}\" is twice in one object", short(.0))]
    Duplicate(String),
    /// Nested deeper than [`MAX_DEPTH`].
    #[error("it is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// Not JSON at this byte.
    #[error("it is no JSON at byte {at}: {why}")]
    Syntax {
        /// The byte offset.
        at: usize,
        /// The syntax error.
        why: String,
    },
    /// The value is not an object.
    #[error("it is no JSON object")]
    NotAnObject,
}

fn short(name: &str) -> String {
    name.chars().take(SHOWN).collect()
}

/// Parses one JSON object that fills `bytes`.
///
/// # Errors
/// [`JsonError`].
pub fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, JsonError> {
    let text = std::str::from_utf8(bytes).map_err(|error| JsonError::Syntax {
        at: error.valid_up_to(),
        why: "it is no text in UTF-8".to_owned(),
    })?;
    match parse(text)? {
        Value::Object(object) => Ok(object),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Err(JsonError::NotAnObject)
        }
    }
}

/// Parses one JSON value that fills `text`.
///
/// # Errors
/// [`JsonError`].
pub fn parse(text: &str) -> Result<Value, JsonError> {
    let refusal = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The check is a separate pass and keeps no values: a visitor that builds them would see numbers as
    // objects when some crate in the build enables serde_json's arbitrary precision.
    let checked = Check { depth: 0, refusal: &refusal }
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end())
        .and_then(|()| serde_json::from_str(text));
    checked.map_err(|error| refusal.take().unwrap_or_else(|| syntax(text, &error)))
}

fn syntax(text: &str, error: &serde_json::Error) -> JsonError {
    let lines_before: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let message = error.to_string();
    JsonError::Syntax {
        at: (lines_before + error.column()).saturating_sub(1),
        why: message.split(" at line ").next().unwrap_or_default().to_owned(),
    }
}

/// Visits one value and rejects what parsers disagree about.
#[derive(Clone, Copy)]
struct Check<'a> {
    depth: u32,
    refusal: &'a RefCell<Option<JsonError>>,
}

impl Check<'_> {
    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            self.refusal.replace(Some(JsonError::TooDeep));
            return Err(E::custom("nested too deep"));
        }
        Ok(Self { depth: self.depth + 1, ..self })
    }
}

impl<'de> DeserializeSeed<'de> for Check<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Check<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let inside = self.inside()?;
        while items.next_element_seed(inside)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let inside = self.inside()?;
        let mut names = HashSet::new();
        while let Some(name) = entries.next_key::<String>()? {
            if names.contains(&name) {
                self.refusal.replace(Some(JsonError::Duplicate(name)));
                return Err(A::Error::custom("a name is there twice"));
            }
            names.insert(name);
            entries.next_value_seed(inside)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_that_stands_twice_is_refused_at_any_depth_and_named() {
        for (text, name) in [
            (r#"{"path":"a","path":"b"}"#, "path"),
            (r#"{"path":"a","pa\u0074h":"a"}"#, "path"),
            (r#"{"a":[{"b":{"c":1,"d":2,"c":1}}]}"#, "c"),
            (r#"{"":0,"":0}"#, ""),
        ] {
            let error = JsonError::Duplicate(name.to_owned());
            assert_eq!(parse(text), Err(error.clone()), "{text}");
            assert_eq!(parse_object(text.as_bytes()), Err(error.clone()));
            assert!(error.to_string().contains(&format!("\"{name}\"")), "{error}");
        }
        let fine = r#"{"a":{"b":1},"b":[{"a":1},{"a":2}]}"#;
        assert_eq!(parse(fine), Ok(json!({"a": {"b": 1}, "b": [{"a": 1}, {"a": 2}]})));
    }

    #[test]
    fn what_is_no_object_too_deep_or_no_text_is_refused() {
        for text in ["[]", "1", "null", "\"{}\""] {
            assert_eq!(parse_object(text.as_bytes()), Err(JsonError::NotAnObject), "{text}");
        }
        for text in [&b""[..], b"{", b"{}{}", b"{}x", b"\xff", b"{\"a\":\xff}"] {
            assert!(matches!(parse_object(text), Err(JsonError::Syntax { .. })), "{text:?}");
        }
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert!(parse(&nested(64)).is_ok());
        assert_eq!(parse(&nested(65)), Err(JsonError::TooDeep));
    }
}
