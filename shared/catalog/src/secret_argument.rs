//! Arguments that are secret, whole or in part. The device gets the value; people, logs and the audit log get its
//! SHA-256 in its place.

use orion_domain::Digest;
use serde_json::Value;

/// What a digest in the place of a secret begins with.
const PREFIX: &str = "sha256:";

/// An argument of a tool that is secret, whole or in part.
#[derive(Debug, Clone, Copy)]
pub struct SecretArgument {
    /// The name of the argument.
    pub name: &'static str,
    /// Returns a value with digests in the places of what is secret of it. The tool parses the result as it
    /// parses the value, with the same touches. A value without a secret is returned as it is.
    pub hide: fn(&Value) -> Value,
}

/// Returns a digest in the place of a secret.
pub(crate) fn hidden(secret: &str) -> String {
    format!("{PREFIX}{}", Digest::of(secret.as_bytes()))
}

/// Returns whether a text is a digest in the place of a secret.
pub(crate) fn is_hidden_secret(text: &str) -> bool {
    text.strip_prefix(PREFIX)
        .is_some_and(|hex| hex.len() == 64 && hex.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Hides a value as a text. One that is no text is hidden whole.
pub(crate) fn hide_text(value: &Value, hide: fn(&str) -> String) -> Value {
    match value {
        Value::Null => Value::Null,
        Value::String(text) => hide(text).into(),
        other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
            hidden(&other.to_string()).into()
        }
    }
}
