//! The custom tools of devices, as a model gets them: one function a name, whichever devices define it.

use orion_catalog::ToolSpec;
use orion_domain::DeviceName;
use serde_json::{Map, Value, json};

use super::definition;
use crate::model::ToolDefinition;

/// The most custom tools that a model is offered.
const MAX_OFFERED: usize = 64;
/// The most characters of the description of one.
const MAX_DESCRIPTION: usize = 2_000;

/// Returns the functions for these tools, which are sorted by name. Where devices define the same name
/// differently, the function takes the arguments of each, and the device that a call names decides which fit.
pub(super) fn definitions(tools: &[(&'static ToolSpec, DeviceName)]) -> Vec<ToolDefinition> {
    tools
        .chunk_by(|(one, _), (other, _)| one.name == other.name)
        .take(MAX_OFFERED)
        .map(merged)
        .collect()
}

fn merged(same_name: &[(&'static ToolSpec, DeviceName)]) -> ToolDefinition {
    let mut variants: Vec<(&'static ToolSpec, Vec<&str>)> = Vec::new();
    for (spec, device) in same_name {
        match variants.iter_mut().find(|(known, _)| known.definition() == spec.definition()) {
            Some((_, devices)) => devices.push(device.as_str()),
            None => variants.push((spec, vec![device.as_str()])),
        }
    }
    let mut forms = variants.iter().map(|(spec, _)| definition(spec));
    let Some(mut first) = forms.next() else {
        return ToolDefinition {
            name: String::new(),
            description: String::new(),
            parameters: json!({}),
        };
    };
    let mut required = words(&first.parameters);
    for other in forms {
        let needed = words(&other.parameters);
        required.retain(|name| needed.contains(name));
        if let Value::Object(mut more) = other.parameters
            && let Some(Value::Object(more)) = more.remove("properties")
            && let Some(properties) = first.parameters["properties"].as_object_mut()
        {
            more.into_iter().for_each(|(name, property)| {
                properties.entry(name).or_insert(property);
            });
        }
    }
    let devices: Vec<&str> = same_name.iter().map(|(_, device)| device.as_str()).collect();
    if let Some(schema) = first.parameters.as_object_mut() {
        schema.insert("required".to_owned(), json!(required));
        let properties = schema.entry("properties").or_insert_with(|| Value::Object(Map::new()));
        properties["device"] =
            json!({"type": "string", "enum": devices, "description": "The device."});
    }
    let text: Vec<String> = variants
        .iter()
        .map(|(spec, devices)| format!("On {}: {}", devices.join(", "), spec.description))
        .collect();
    let description = text.join(" ").chars().take(MAX_DESCRIPTION).collect();
    ToolDefinition { description, ..first }
}

fn words(schema: &Value) -> Vec<String> {
    let required = schema["required"].as_array();
    required.into_iter().flatten().filter_map(|it| it.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use orion_catalog::custom::{self, approved};
    use orion_domain::Risk;

    use super::*;

    fn tool(argument: &str, description: &str) -> &'static ToolSpec {
        let value = json!({
            "name": "greet", "description": description, "risk": "high", "permissions": [],
            "parameters": [{
                "name": argument, "description": "Who.", "required": true,
                "may_begin_with_hyphen": false, "kind": {"type": "string", "max_length": 9},
            }],
            "run": {"program": {
                "program": "/usr/bin/hello", "argv": [format!("{{{argument}}}")], "folder": ".",
                "timeout": 5, "code": [],
            }},
            "touches": {"read": [], "write": [], "delete": [], "hosts": []},
        });
        let bytes = orion_domain::CanonicalArguments::from_value(&value);
        approved(&custom::read(bytes.as_bytes()).unwrap(), Risk::High).unwrap()
    }

    #[test]
    fn a_name_is_one_function_and_says_on_which_device_it_is_what() {
        let (one, other) = (tool("name", "Greets a person."), tool("title", "Greets a title."));
        let at = |spec, device: &str| (spec, device.parse().unwrap());
        let offered = definitions(&[at(one, "desk"), at(one, "kiosk"), at(other, "lab")]);
        assert_eq!(offered.len(), 1);
        let greet = &offered[0];
        assert!(greet.description.starts_with("On desk, kiosk: A custom tool"), "{greet:?}");
        assert!(greet.description.contains("On lab: A custom tool"));
        assert_eq!(
            greet.parameters["properties"]["device"]["enum"],
            json!(["desk", "kiosk", "lab"])
        );
        assert_eq!(greet.parameters["required"], json!([]));
        assert!(greet.parameters["properties"]["title"].is_object());
        let alone = definitions(&[at(one, "desk")]);
        assert_eq!(alone[0].parameters["required"], json!(["name"]));
    }
}
