//! Describes tools in the prompt, for models without tool calls.

use std::fmt::Write as _;

use serde_json::Value;

use crate::model::ToolDefinition;

/// Maximum length of a tool's or an argument's description, in characters.
const MAX_DESCRIPTION: usize = 400;

/// Describes `tools` for a system prompt: how to call, then for each tool what it does, its
/// arguments and a call to copy.
#[must_use]
pub fn text_prompt(tools: &[ToolDefinition]) -> String {
    let mut prompt = String::from(
        "You can use tools. To use one, answer with ONLY the JSON of the call: no other words, no code fence. \
         Arguments stand beside \"tool\". You then get a message that begins with \"Result of\", and may call \
         again or answer in words. Never invent a result. Leave out what you do not need. When no tool is \
         needed, answer in words without JSON.\n\nTools:\n",
    );
    for tool in tools {
        // Writing to a string cannot fail.
        let _ = writeln!(prompt, "\n{}: {}", tool.name, short(&tool.description));
        let required = required(&tool.parameters);
        for (name, schema) in properties(&tool.parameters) {
            let need = if required.contains(&name) { ", required" } else { "" };
            let description = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            let _ = writeln!(prompt, "- {name} ({}{need}) {}", kind(schema), short(description));
        }
        let _ = writeln!(prompt, "Example: {}", example(tool));
    }
    prompt
}

fn short(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_DESCRIPTION).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

fn properties(schema: &Value) -> impl Iterator<Item = (&str, &Value)> {
    let properties = schema.get("properties").and_then(Value::as_object);
    properties.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema))
}

fn required(schema: &Value) -> Vec<&str> {
    let names = schema.get("required").and_then(Value::as_array);
    names.into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Returns the type's name; of several types, the first that is not null.
fn kind(schema: &Value) -> &str {
    let kind = schema.get("type");
    let kinds = kind.and_then(Value::as_array).into_iter().flatten().chain(kind);
    kinds.filter_map(Value::as_str).find(|kind| *kind != "null").unwrap_or("any")
}

/// Returns an example call with the required arguments, the device, and `confirm` where the tool has it.
fn example(tool: &ToolDefinition) -> String {
    let mut call = format!("{{\"tool\":{}", Value::from(tool.name.as_str()));
    let required = required(&tool.parameters);
    for (name, schema) in properties(&tool.parameters) {
        if !(required.contains(&name) || matches!(name, "device" | "confirm")) {
            continue;
        }
        let value = match kind(schema) {
            "boolean" => "true".to_owned(),
            "integer" | "number" => "1".to_owned(),
            "array" => "[]".to_owned(),
            "object" => "{}".to_owned(),
            _ => Value::from(format!("<{name}>")).to_string(),
        };
        let _ = write!(call, ",{}:{value}", Value::from(name));
    }
    call.push('}');
    call
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_tool_is_told_with_its_arguments_and_a_call_to_copy() {
        let tool = ToolDefinition {
            name: "delete_directory".to_owned(),
            description: "Deletes a folder.".to_owned(),
            parameters: json!({"type": "object", "required": ["path"], "properties": {
                "path": {"type": "string", "description": "The folder."},
                "recursive": {"type": "boolean"},
                "confirm": {"type": "boolean", "description": "Must be true."},
                "device": {"type": ["string", "null"], "description": "Where."},
            }}),
        };
        let prompt = text_prompt(&[tool]);
        let (rules, list) = prompt.split_once("Tools:\n").unwrap();
        assert!(rules.contains("ONLY the JSON"), "{rules}");
        assert_eq!(
            list,
            "\ndelete_directory: Deletes a folder.\n\
             - confirm (boolean) Must be true.\n\
             - device (string) Where.\n\
             - path (string, required) The folder.\n\
             - recursive (boolean) \n\
             Example: {\"tool\":\"delete_directory\",\"confirm\":true,\"device\":\"<device>\",\"path\":\"<path>\"}\n"
        );
    }

    #[test]
    fn a_tool_that_says_too_much_is_cut() {
        let tool = ToolDefinition {
            name: "x".to_owned(),
            description: "é".repeat(10_000),
            parameters: json!({}),
        };
        assert!(text_prompt(&[tool]).len() < 2000);
    }
}
