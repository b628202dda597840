//! What a server says of a tool, as parts of a definition. Whatever it says is untrusted text.

use orion_catalog::custom::{Kind, Parameter};
use orion_domain::{strip_hidden, visible::is_blank};
use rmcp::model::Tool;
use serde_json::{Map, Value};

/// The most characters of a description.
const MAX_DESCRIPTION: usize = 1_000;
/// The most characters of the description of an argument.
const MAX_ARGUMENT_DESCRIPTION: usize = 300;
/// The most bytes of a text or of a value of any form.
const MAX_TEXT_BYTES: u32 = 64 * 1024;
/// The most items of a list of texts.
const MAX_ITEMS: u32 = 64;
/// The greatest number: what every program reads alike.
const NUMBER: i64 = 9_007_199_254_740_991;

/// Returns the description of a tool, in one line.
pub(super) fn description(tool: &Tool) -> String {
    let said = tool.description.as_deref().unwrap_or_default();
    let description =
        strip_hidden(&said.split_whitespace().collect::<Vec<_>>().join(" "), MAX_DESCRIPTION);
    if is_blank(&description) { "The server does not describe it.".to_owned() } else { description }
}

/// Returns the arguments of a tool, sorted by name.
pub(super) fn parameters(tool: &Tool) -> Vec<Parameter> {
    let schema: &Map<String, Value> = &tool.input_schema;
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut parameters: Vec<Parameter> = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| {
            let said = property["description"].as_str().unwrap_or_default();
            let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
            Parameter {
                name: name.clone(),
                description: strip_hidden(&said, MAX_ARGUMENT_DESCRIPTION),
                required: required.contains(&name.as_str()),
                // The server gets JSON, and no options.
                may_begin_with_hyphen: true,
                kind: kind(property),
            }
        })
        .collect();
    parameters.sort_by(|one, other| one.name.cmp(&other.name));
    parameters
}

/// Returns the type of an argument. Whatever has no type of its own here is JSON, which the server checks.
fn kind(property: &Value) -> Kind {
    let json = Kind::Json { max_length: MAX_TEXT_BYTES };
    let plain =
        ["anyOf", "oneOf", "allOf", "not", "const"].iter().all(|key| property.get(key).is_none());
    let Some(kind) = property["type"].as_str().filter(|_| plain) else { return json };
    let number = |key: &str, otherwise: f64| property[key].as_f64().unwrap_or(otherwise);
    let whole = |key: &str, otherwise: i64| property[key].as_i64().unwrap_or(otherwise);
    match (kind, property.get("enum")) {
        ("string", None) => Kind::String { max_length: MAX_TEXT_BYTES },
        ("string", Some(Value::Array(values))) => {
            let values: Option<Vec<String>> =
                values.iter().map(|value| value.as_str().map(str::to_owned)).collect();
            values
                .filter(|values| !values.is_empty())
                .map_or(json, |values| Kind::Choice { values })
        }
        ("integer", None) => {
            Kind::Integer { minimum: whole("minimum", -NUMBER), maximum: whole("maximum", NUMBER) }
        }
        ("number", None) => {
            Kind::Number { minimum: number("minimum", -1e15), maximum: number("maximum", 1e15) }
        }
        ("boolean", None) => Kind::Boolean,
        ("array", None)
            if property["items"]["type"] == "string" && property["items"].get("enum").is_none() =>
        {
            Kind::Strings { max_items: MAX_ITEMS, max_length: MAX_TEXT_BYTES }
        }
        _ => json,
    }
}
