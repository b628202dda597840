//! A requested call, and its arguments in the one canonical form that is hashed, stored and sent.

use std::sync::OnceLock;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::digest::Digest;

/// The maximum size of one call's arguments, in bytes.
pub const MAX_ARGUMENT_BYTES: usize = 2 * 1024 * 1024;

/// The maximum number of JSON values in one call's arguments. A parsed value takes many times its bytes
/// in memory.
pub const MAX_ARGUMENT_VALUES: usize = 10_000;

/// Returns whether JSON holds no more values than [`MAX_ARGUMENT_VALUES`], as a lower bound before it is
/// parsed. Every value but the first follows a comma or an opening bracket.
#[must_use]
pub fn has_few_values(json: &[u8]) -> bool {
    let (mut values, mut is_text, mut is_escaped) = (1_usize, false, false);
    for byte in json {
        if is_text {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' => is_escaped = true,
                b'"' => is_text = false,
                _ => {}
            }
            continue;
        }
        match byte {
            b'"' => is_text = true,
            b',' | b'[' | b'{' => values += 1,
            _ => {}
        }
    }
    values <= MAX_ARGUMENT_VALUES
}

/// A call as a model or a person requested it. Nothing in it is validated.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct CallRequest {
    /// The tool's name or alias.
    pub tool: String,
    /// The device's name or id. `None` where there is only one device.
    pub device: Option<String>,
    /// The tool's arguments.
    pub arguments: Map<String, Value>,
    /// Whether the caller requests only a preview.
    pub dry_run: bool,
    /// Milliseconds from now until the deadline. `None` means the backend's default.
    pub timeout_ms: Option<u64>,
    /// A key that the client chooses: the same key by the same user is the same call.
    pub idempotency_key: Option<String>,
    /// Whether the call waits for an offline device. `None` means the backend's default.
    pub queue: Option<bool>,
    /// The longest time in the queue, in milliseconds. `None` means the backend's default.
    pub queue_ms: Option<u64>,
    /// Whether the call was extracted from surrounding prose.
    pub recovered: bool,
}

/// Arguments as JSON with sorted keys and no white space.
#[derive(Debug, Clone)]
pub struct CanonicalArguments {
    bytes: Vec<u8>,
    digest: Digest,
    /// The arguments as a value, once a rule has asked for them.
    values: OnceLock<Value>,
}

impl PartialEq for CanonicalArguments {
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for CanonicalArguments {}

impl CanonicalArguments {
    /// Returns the canonical form of these arguments.
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        let mut bytes = Vec::with_capacity(128);
        write_sorted(value, &mut bytes);
        let digest = Digest::of(&bytes);
        Self { bytes, digest, values: OnceLock::new() }
    }

    /// Returns the arguments as a value, which is read once.
    #[must_use]
    pub fn values(&self) -> &Value {
        self.values.get_or_init(|| serde_json::from_slice(&self.bytes).unwrap_or_default())
    }

    /// Returns the UTF-8 bytes.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the SHA-256 of the bytes.
    #[must_use]
    pub const fn digest(&self) -> Digest {
        self.digest
    }

    /// Returns the text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap_or("{}")
    }
}

fn write_sorted(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Object(object) => {
            let mut entries: Vec<_> = object.iter().collect();
            entries.sort_unstable_by_key(|(key, _)| key.as_str());
            out.push(b'{');
            for (index, (key, value)) in entries.into_iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                out.extend_from_slice(Value::from(key.as_str()).to_string().as_bytes());
                out.push(b':');
                write_sorted(value, out);
            }
            out.push(b'}');
        }
        Value::Array(items) => {
            out.push(b'[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(b',');
                }
                write_sorted(item, out);
            }
            out.push(b']');
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            out.extend_from_slice(value.to_string().as_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn key_order_does_not_matter_and_values_do() {
        let one =
            CanonicalArguments::from_value(&json!({"b": 1, "a": [true, {"d": null, "c": "x"}]}));
        assert_eq!(one.as_str(), r#"{"a":[true,{"c":"x","d":null}],"b":1}"#);
        assert_eq!(one.as_bytes(), one.as_str().as_bytes());
        assert_eq!(one.digest(), Digest::of(one.as_bytes()));
        let other = CanonicalArguments::from_value(&json!({"b": 2, "a": []}));
        assert_ne!(one.digest(), other.digest());
    }

    #[test]
    fn what_a_model_writes_fits_even_where_every_byte_becomes_two() {
        assert_eq!(MAX_ARGUMENT_BYTES, 2 * crate::extract::MAX_OUTPUT_BYTES);
        assert_eq!(crate::extract::MAX_OUTPUT_BYTES, 1 << 20);
    }

    #[test]
    fn values_are_counted_before_they_are_read_and_what_is_in_text_is_none() {
        let list = |count: usize| serde_json::to_vec(&vec![0; count]).unwrap();
        assert!(has_few_values(&list(MAX_ARGUMENT_VALUES - 1)));
        assert!(!has_few_values(&list(MAX_ARGUMENT_VALUES)));
        assert!(!has_few_values("[".repeat(MAX_ARGUMENT_VALUES).as_bytes()));
        let keys: Map<_, _> = (0..MAX_ARGUMENT_VALUES).map(|n| (n.to_string(), 0.into())).collect();
        assert!(!has_few_values(&serde_json::to_vec(&keys).unwrap()));
        let text = serde_json::to_vec(&r#"\",[{"#.repeat(MAX_ARGUMENT_VALUES)).unwrap();
        assert!(has_few_values(&text));
    }
}
