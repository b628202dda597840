//! Reformats received JSON: fields keep their order and nothing is dropped, which a tree of values would
//! not guarantee.

use orion_domain::is_hidden;
use serde_json::Value;

use crate::failure::Failure;
use crate::text::escaped_json;

/// Formats JSON with indentation, without a line break at its end.
///
/// # Errors
/// The input is not JSON.
pub(crate) fn pretty(bytes: &[u8]) -> Result<String, Failure> {
    let mut out = Vec::with_capacity(bytes.len() * 2);
    let mut from = serde_json::Deserializer::from_slice(bytes);
    let mut to = serde_json::Serializer::pretty(&mut out);
    serde_transcode::transcode(&mut from, &mut to).map_err(|error| not_json(&error))?;
    from.end().map_err(|error| not_json(&error))?;
    String::from_utf8(out).map_err(|error| not_json(&error))
}

/// Formats JSON as YAML, without a line break at its end.
///
/// # Errors
/// The input is not JSON.
pub(crate) fn yaml(bytes: &[u8]) -> Result<String, Failure> {
    let mut from = serde_json::Deserializer::from_slice(bytes);
    let value = serde_transcode::Transcoder::new(&mut from);
    let text = serde_yaml_ng::to_string(&value).map_err(|error| not_json(&error))?;
    if text.chars().any(|c| is_hidden(c) && c != '\n') {
        // Plain YAML texts cannot be escaped; JSON can, and is YAML as well.
        return pretty(bytes).map(|text| escaped_json(&text));
    }
    Ok(text.trim_end().to_owned())
}

fn not_json(error: &dyn std::fmt::Display) -> Failure {
    Failure::Failed(format!("the backend sent something that is not JSON: {error}"))
}

/// Parses JSON text inside a message; null where there is none.
pub(crate) fn embedded(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// An object with some of its fields first, the rest after in their order.
#[derive(Debug)]
pub(crate) struct FieldsFirst<'a>(pub(crate) &'a Value, pub(crate) &'a [&'a str]);

impl serde::Serialize for FieldsFirst<'_> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self(Value::Object(object), first) = self else {
            return self.0.serialize(serializer);
        };
        let front = first.iter().filter_map(|name| object.get_key_value(*name));
        let rest = object.iter().filter(|(name, _)| !first.contains(&name.as_str()));
        serializer.collect_map(front.chain(rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_numbers_stay_as_they_were() {
        let text = br#"{"z":1,"a":{"n":18446744073709551615,"f":1.50,"s":"\u001b\u00e9"}}"#;
        assert_eq!(
            pretty(text).unwrap(),
            "{\n  \"z\": 1,\n  \"a\": {\n    \"n\": 18446744073709551615,\n    \"f\": 1.5,\n    \"s\": \"\\u001bé\"\n  }\n}"
        );
        assert_eq!(yaml(br#"{"z":1,"a":[true,null]}"#).unwrap(), "z: 1\na:\n- true\n- null");
        assert!(pretty(b"{} x").is_err());
        assert!(pretty(b"").is_err());
    }

    #[test]
    fn the_fields_that_matter_come_first() {
        let value = serde_json::json!({"device": "d", "path": "p", "tool": "t"});
        let text = serde_json::to_string(&FieldsFirst(&value, &["tool", "device"])).unwrap();
        assert_eq!(text, r#"{"tool":"t","device":"d","path":"p"}"#);
    }
}
