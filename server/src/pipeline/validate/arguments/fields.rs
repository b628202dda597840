//! What is wrong with an argument, as a person says it: its name, what was expected, and the nearest name.

use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use jsonschema::{JsonType, ValidationError};
use orion_catalog::ToolSpec;
use serde_json::{Map, Value};

/// The minimum similarity of a suggested name.
const MIN_SIMILARITY: f64 = 0.75;

/// Returns what is wrong, without a final period. A value is shown only where none can be secret.
pub(super) fn problem(error: &ValidationError<'_>, is_secret: bool) -> String {
    let path = error.instance_path().to_string();
    let name = path.trim_start_matches('/');
    let name = name.split_once('/').map_or(name, |(first, _)| first);
    let kind = error.kind();
    if let Kind::AdditionalProperties { unexpected } = kind {
        let names: Vec<_> = unexpected.iter().map(|name| format!("`{name}`")).collect();
        let plural = if names.len() == 1 { "is no argument" } else { "are no arguments" };
        return format!("{} {plural} of it", names.join(", "));
    }
    if let Kind::Required { property } = kind {
        return format!("`{}` is missing", property.as_str().unwrap_or_default());
    }
    if let Kind::Enum { options } = kind {
        let options = options.as_array().map(Vec::as_slice).unwrap_or_default();
        let options: Vec<_> = options.iter().filter_map(Value::as_str).collect();
        return format!("`{name}` is one of {}", options.join(", "));
    }
    if let Kind::Type { kind: TypeKind::Single(kind) } = kind {
        return format!("`{name}` takes {}", described(*kind));
    }
    let said = if is_secret { error.masked().to_string() } else { error.to_string() };
    if name.is_empty() { said } else { format!("`{name}`: {said}") }
}

/// Returns what a person writes for a value of this type.
fn described(kind: JsonType) -> &'static str {
    match kind {
        JsonType::Array => "a list",
        JsonType::Boolean => "true or false",
        JsonType::Integer => "a whole number",
        JsonType::Null => "nothing",
        JsonType::Number => "a number",
        JsonType::Object => "a JSON object",
        JsonType::String => "a text",
    }
}

/// Returns the names that were probably meant by names that the tool does not know.
pub(super) fn near(spec: &ToolSpec, arguments: &Map<String, Value>) -> Vec<String> {
    let schema = spec.arguments_schema();
    let Some(known) = schema["properties"].as_object() else { return Vec::new() };
    let unknown = arguments.keys().filter(|name| !known.contains_key(*name) && name.len() <= 64);
    let nearest = |name: &String| {
        let scored = known.keys().filter(|known| !arguments.contains_key(*known));
        let scored = scored.map(|known| (strsim::jaro_winkler(name, known), known));
        let near = scored.filter(|(score, _)| *score >= MIN_SIMILARITY);
        near.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, known)| known.clone())
    };
    let mut near: Vec<_> = unknown.filter_map(nearest).take(3).collect();
    near.dedup();
    near
}
