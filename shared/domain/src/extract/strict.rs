//! JSON that every reader takes in the same way: one value, no name twice in an object, bounded nesting.

use std::cell::RefCell;
use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::MAX_DEPTH;

/// Why a text was refused.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// An object has this name twice.
    Duplicate(String),
    /// Nested deeper than [`MAX_DEPTH`].
    TooDeep,
    /// Not JSON at this byte.
    Syntax { at: usize, why: String },
}

/// Parses one JSON value that fills `text`.
pub(super) fn parse(text: &str) -> Result<Value, Refusal> {
    let refusal = RefCell::new(None);
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The check is a pass of its own and keeps no values: a visitor that builds them would see numbers as
    // objects when some crate in the build turns on serde_json's arbitrary precision.
    let checked = Check { depth: 0, refusal: &refusal }
        .deserialize(&mut deserializer)
        .and_then(|()| deserializer.end())
        .and_then(|()| serde_json::from_str(text));
    checked.map_err(|error| refusal.take().unwrap_or_else(|| syntax(text, &error)))
}

fn syntax(text: &str, error: &serde_json::Error) -> Refusal {
    let lines_before: usize =
        text.split_inclusive('\n').take(error.line().saturating_sub(1)).map(str::len).sum();
    let message = error.to_string();
    Refusal::Syntax {
        at: (lines_before + error.column()).saturating_sub(1),
        why: message.split(" at line ").next().unwrap_or_default().to_owned(),
    }
}

/// Walks one value and refuses what readers disagree about.
#[derive(Clone, Copy)]
struct Check<'a> {
    depth: u32,
    refusal: &'a RefCell<Option<Refusal>>,
}

impl Check<'_> {
    fn inside<E: serde::de::Error>(self) -> Result<Self, E> {
        if self.depth == MAX_DEPTH {
            self.refusal.replace(Some(Refusal::TooDeep));
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
                self.refusal.replace(Some(Refusal::Duplicate(name)));
                return Err(A::Error::custom("a name stands twice"));
            }
            names.insert(name);
            entries.next_value_seed(inside)?;
        }
        Ok(())
    }
}
