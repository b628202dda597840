//! The tools of a person, as MCP lists them: those that they may call, as a model in a chat gets them.

use std::sync::Arc;

use orion_catalog::{ToolSpec, find};
use orion_domain::Caller;
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::chat;
use crate::model::ToolDefinition;
use crate::pipeline::Pipeline;

/// Returns the tools that this person may call.
pub(super) fn list(pipeline: &Pipeline, caller: &Caller) -> Vec<Tool> {
    chat::offered_tools(pipeline, caller, None).into_iter().map(tool).collect()
}

fn tool(definition: ToolDefinition) -> Tool {
    let ToolDefinition { name, description, parameters } = definition;
    let spec = find(&name).map(|(spec, _)| spec);
    // Of a custom tool nobody knows more than that its program runs.
    let has_effects = spec.is_none_or(|spec| spec.has_effects);
    let annotations = ToolAnnotations::new()
        .read_only(!has_effects)
        .destructive(has_effects)
        .open_world(spec.is_none_or(|spec| spec.untrusted));
    Tool::new(name, description, object(plain(parameters)))
        .with_annotations(annotations)
        .with_raw_output_schema(output_schema(spec))
}

/// Returns the schema of the result envelope, with what the tool returns.
fn output_schema(spec: Option<&'static ToolSpec>) -> Arc<JsonObject> {
    let mut returns = plain(spec.map_or_else(|| json!({}), ToolSpec::returns_schema));
    let definitions = returns.as_object_mut().and_then(|schema| {
        schema.remove("$schema");
        schema.remove("$defs")
    });
    let mut schema = json!({
        "type": "object",
        "properties": {
            "success": {"type": "boolean"},
            "message": {"type": "string"},
            "data": {
                "description": "What the tool returns; null after a failure, and in a preview what would be done.",
                "anyOf": [returns, {"type": ["object", "null"]}],
            },
            "error": {"type": ["object", "null"]},
            "dry_run": {"type": "boolean"},
            "meta": {"type": "object"},
        },
        "required": ["success", "message"],
    });
    if let Some(definitions) = definitions {
        schema["$defs"] = definitions;
    }
    Arc::new(object(schema))
}

/// Returns a schema without the formats of numbers, such as `uint64`, which JSON Schema does not have and clients warn
/// about.
fn plain(mut schema: Value) -> Value {
    fn strip(value: &mut Value) {
        match value {
            Value::Object(object) => {
                let is_number = object.get("format").and_then(Value::as_str).is_some_and(|it| {
                    ["int", "uint", "float", "double"].iter().any(|kind| it.starts_with(kind))
                });
                if is_number {
                    object.remove("format");
                }
                object.values_mut().for_each(strip);
            }
            Value::Array(items) => items.iter_mut().for_each(strip),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    strip(&mut schema);
    schema
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            Map::new()
        }
    }
}

#[cfg(test)]
mod tests {
    use orion_catalog::CATALOG;

    use super::*;

    #[test]
    fn every_tool_has_schemas_that_are_valid_and_says_whether_it_changes_anything() {
        for spec in CATALOG {
            let definition = ToolDefinition {
                name: spec.name.to_owned(),
                description: spec.description.to_owned(),
                parameters: spec.arguments_schema(),
            };
            let tool = tool(definition);
            let annotations = tool.annotations.unwrap();
            assert_eq!(annotations.read_only_hint, Some(!spec.has_effects), "{}", spec.name);
            let schema = Value::Object((*tool.output_schema.unwrap()).clone());
            let validator = jsonschema::validator_for(&schema).unwrap();
            let failed = json!({"success": false, "message": "x", "data": null, "error": {}});
            assert!(validator.is_valid(&failed), "{}", spec.name);
            assert!(!validator.is_valid(&json!({})), "{}", spec.name);
        }
    }
}
