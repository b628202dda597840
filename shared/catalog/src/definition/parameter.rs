//! The arguments of a custom tool: a few types, each with its limits.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// The most bytes of a text.
pub(super) const MAX_TEXT_BYTES: u32 = 64 * 1024;
/// The most items of a list.
pub(super) const MAX_ITEMS: u32 = 64;
/// The most levels of a value of any form.
const MAX_DEPTH: usize = 16;

/// One argument of a custom tool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// The name.
    pub name: String,
    /// What the argument means, in the words of the device. It may be empty.
    pub description: String,
    /// Whether a call must give it.
    pub required: bool,
    /// Whether a text may begin with a hyphen, which programs take as an option.
    pub may_begin_with_hyphen: bool,
    /// The type.
    pub kind: Kind,
}

/// The type of an argument.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case", deny_unknown_fields)]
pub enum Kind {
    /// A text.
    String {
        /// The most bytes.
        max_length: u32,
    },
    /// A whole number.
    Integer {
        /// The least value.
        minimum: i64,
        /// The greatest value.
        maximum: i64,
    },
    /// A number.
    Number {
        /// The least value.
        minimum: f64,
        /// The greatest value.
        maximum: f64,
    },
    /// True or false.
    Boolean,
    /// One of a few texts.
    Choice {
        /// The texts.
        values: Vec<String>,
    },
    /// A list of texts.
    Strings {
        /// The most items.
        max_items: u32,
        /// The most bytes of an item.
        max_length: u32,
    },
    /// A JSON value of any form, for tools of MCP servers alone.
    Json {
        /// The most bytes.
        max_length: u32,
    },
}

impl Parameter {
    /// Returns why a value does not fit. `None` where it does.
    pub(super) fn fault(&self, value: &Value) -> Option<String> {
        match (&self.kind, value) {
            (Kind::String { max_length }, Value::String(text)) => {
                self.text_fault(text, *max_length)
            }
            (Kind::Choice { values }, Value::String(text)) => {
                let is_listed = values.contains(text);
                (!is_listed).then(|| format!("It is one of {}.", values.join(", ")))
            }
            (Kind::Boolean, Value::Bool(_)) => None,
            (Kind::Integer { minimum, maximum }, Value::Number(number)) => {
                let fits = number.as_i64().is_some_and(|it| (*minimum..=*maximum).contains(&it));
                let fault = format!("It is a whole number from {minimum} to {maximum}.");
                (!fits).then_some(fault).or_else(|| self.hyphen_fault(number))
            }
            (Kind::Number { minimum, maximum }, Value::Number(number)) => {
                let fits = number.as_f64().is_some_and(|it| (*minimum..=*maximum).contains(&it));
                let fault = format!("It is a number from {minimum} to {maximum}.");
                (!fits).then_some(fault).or_else(|| self.hyphen_fault(number))
            }
            (Kind::Strings { max_items, max_length }, Value::Array(items)) => {
                if items.len() > as_usize(*max_items) {
                    return Some(format!("It has at most {max_items} items."));
                }
                items.iter().find_map(|item| match item {
                    Value::String(text) => self.text_fault(text, *max_length),
                    Value::Null
                    | Value::Bool(_)
                    | Value::Number(_)
                    | Value::Array(_)
                    | Value::Object(_) => Some("Each of its items is a text.".to_owned()),
                })
            }
            (Kind::Json { max_length }, value) => {
                let fits = depth(value) <= MAX_DEPTH
                    && value.to_string().len() <= as_usize(*max_length)
                    && !holds_nul(value);
                let limits = format!("at most {max_length} bytes and {MAX_DEPTH} levels");
                (!fits).then(|| format!("It is JSON of {limits}, without the character NUL."))
            }
            _ => Some(format!("It is {}.", self.kind.noun())),
        }
    }

    fn text_fault(&self, text: &str, max_length: u32) -> Option<String> {
        if text.len() > as_usize(max_length) {
            return Some(format!("It has at most {max_length} bytes."));
        }
        if text.contains('\0') {
            return Some("It cannot hold the character NUL.".to_owned());
        }
        self.hyphen_fault(text)
    }

    /// Returns what is wrong with a value that a program would take as an option.
    fn hyphen_fault(&self, value: impl ToString) -> Option<String> {
        (value.to_string().starts_with('-') && !self.may_begin_with_hyphen).then(|| {
            "It cannot begin with a hyphen, because programs take that as an option.".to_owned()
        })
    }

    /// Returns the JSON Schema of the argument.
    pub(super) fn schema(&self) -> Value {
        let mut schema = match &self.kind {
            Kind::String { max_length } => json!({"type": "string", "maxLength": max_length}),
            Kind::Integer { minimum, maximum } => {
                json!({"type": "integer", "minimum": minimum, "maximum": maximum})
            }
            Kind::Number { minimum, maximum } => {
                json!({"type": "number", "minimum": minimum, "maximum": maximum})
            }
            Kind::Boolean => json!({"type": "boolean"}),
            Kind::Choice { values } => json!({"type": "string", "enum": values}),
            Kind::Strings { max_items, max_length } => json!({
                "type": "array", "maxItems": max_items,
                "items": {"type": "string", "maxLength": max_length},
            }),
            Kind::Json { .. } => Value::Object(Map::new()),
        };
        if let Some(object) = schema.as_object_mut() {
            object.insert("description".to_owned(), Value::from(self.description.as_str()));
        }
        schema
    }

    /// Returns a value that fits, for an example.
    pub(crate) fn example(&self) -> Value {
        match &self.kind {
            Kind::String { .. } | Kind::Json { .. } => json!("…"),
            Kind::Integer { minimum, .. } => json!(minimum),
            Kind::Number { minimum, .. } => json!(minimum),
            Kind::Boolean => json!(true),
            Kind::Choice { values } => json!(values.first()),
            Kind::Strings { .. } => json!(["…"]),
        }
    }
}

impl Kind {
    const fn noun(&self) -> &'static str {
        match self {
            Self::String { .. } | Self::Choice { .. } => "a text",
            Self::Integer { .. } => "a whole number",
            Self::Number { .. } => "a number",
            Self::Boolean => "true or false",
            Self::Strings { .. } => "a list of texts",
            Self::Json { .. } => "a JSON value",
        }
    }
}

fn depth(value: &Value) -> usize {
    let below = match value {
        Value::Array(items) => items.iter().map(depth).max(),
        Value::Object(object) => object.values().map(depth).max(),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => return 0,
    };
    1 + below.unwrap_or(0)
}

fn holds_nul(value: &Value) -> bool {
    match value {
        Value::String(text) => text.contains('\0'),
        Value::Array(items) => items.iter().any(holds_nul),
        Value::Object(object) => {
            object.iter().any(|(name, value)| name.contains('\0') || holds_nul(value))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

pub(super) fn as_usize(number: u32) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
