//! Parses arguments as people write them, `name=value`, typed by the tool's schema: on the command line
//! and in a policy's examples.

use orion_domain::json;
use serde_json::Value;

/// Converts a text to the type that its schema requires, where the text can be parsed so.
#[must_use]
pub fn typed(text: &str, schema: Option<&Value>) -> Value {
    let kinds = schema.map(kinds).unwrap_or_default();
    let wants = |kind: &str| kinds.contains(&kind);
    let word = text.trim();
    if wants("array") {
        if word.starts_with('[')
            && let Ok(items @ Value::Array(_)) = json::parse(word)
        {
            return items;
        }
        return Value::Array(vec![typed(text, schema.and_then(|schema| schema.get("items")))]);
    }
    if wants("boolean")
        && let Ok(flag) = word.parse::<bool>()
    {
        return Value::Bool(flag);
    }
    if wants("integer")
        && let Ok(number) = word.parse::<i64>()
    {
        return number.into();
    }
    if wants("integer")
        && let Ok(number) = word.parse::<u64>()
    {
        return number.into();
    }
    if wants("number")
        && let Ok(number @ Value::Number(_)) = json::parse(word)
    {
        return number;
    }
    if wants("object")
        && let Ok(object @ Value::Object(_)) = json::parse(word)
    {
        return object;
    }
    if word == "null" && wants("null") && !wants("string") {
        return Value::Null;
    }
    Value::String(text.to_owned())
}

/// Returns the types that a schema allows, through its alternatives.
#[must_use]
pub fn kinds(schema: &Value) -> Vec<&str> {
    let mut kinds: Vec<&str> = match schema.get("type") {
        Some(Value::String(kind)) => vec![kind],
        Some(Value::Array(several)) => several.iter().filter_map(Value::as_str).collect(),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_)) | None => {
            Vec::new()
        }
    };
    for key in ["anyOf", "oneOf", "allOf"] {
        if let Some(Value::Array(alternatives)) = schema.get(key) {
            kinds.extend(alternatives.iter().flat_map(|schema| self::kinds(schema)));
        }
    }
    kinds
}
