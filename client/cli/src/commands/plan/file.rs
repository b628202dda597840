//! Parses a plan as people write it: YAML or JSON, with one device or several for a step.

use orion_domain::Hint;
use orion_wire::v1;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::failure::{Failure, nearest_key};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    steps: Vec<Step>,
    #[serde(default)]
    keep_going: bool,
}

/// One step, or one for each of its devices.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    device: Option<String>,
    devices: Option<Vec<String>>,
    tool: String,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// Returns the steps of a file, and whether the plan continues after a failed step.
///
/// # Errors
/// The file is not a plan.
pub(super) fn read(text: &str) -> Result<(Vec<v1::NewPlanStep>, bool), Failure> {
    let unreadable = |error: serde_yaml_ng::Error| {
        let said = error.to_string();
        let said = said.replace("expected struct File", "expected `steps`, a list");
        let said = said.replace("expected struct Step", "expected a step, such as {tool: …}");
        let near = nearest_key(&said).map(|near| Hint::did_you_mean(vec![near.to_owned()]));
        let failure = Failure::Usage(format!("the plan cannot be read: {said}"));
        let failure = match near {
            Some(near) => failure.hint(near),
            None => failure,
        };
        failure.hint(Hint::run("see an example", "orion plan run --help"))
    };
    // JSON is YAML. Parsing to a YAML value rejects duplicate names, where parsing to arguments would
    // keep the last.
    serde_yaml_ng::from_str::<serde_yaml_ng::Value>(text).map_err(unreadable)?;
    let file: File = serde_yaml_ng::from_str(text).map_err(unreadable)?;
    let mut steps = Vec::new();
    for (number, step) in (1_u32..).zip(file.steps) {
        let Step { device, devices, tool, arguments } = step;
        let devices = match (device, devices) {
            (Some(device), None) => vec![device],
            (None, Some(devices)) if !devices.is_empty() => devices,
            (None, None | Some(_)) | (Some(_), Some(_)) => {
                return Err(Failure::Usage(format!(
                    "step {number} of the file needs either `device` or `devices`"
                )));
            }
        };
        let arguments = Value::Object(arguments);
        steps.extend(devices.iter().map(|device| new_step(device, &tool, &arguments)));
    }
    Ok((steps, file.keep_going))
}

/// Returns one call for each of several devices, separated by commas.
///
/// # Errors
/// One of them has no name, or is named twice.
pub(super) fn over(
    devices: &str,
    tool: &str,
    arguments: &Value,
) -> Result<Vec<v1::NewPlanStep>, Failure> {
    let devices: Vec<_> = devices.split(',').map(str::trim).collect();
    for (index, device) in devices.iter().enumerate() {
        if device.is_empty() || devices.iter().take(index).any(|earlier| earlier == device) {
            let devices = devices.join(",");
            return Err(Failure::Usage(format!("`{devices}` names a device twice or none"))
                .hint("write names with commas, as in laptop-123,kiosk"));
        }
    }
    Ok(devices.iter().map(|device| new_step(device, tool, arguments)).collect())
}

fn new_step(device: &str, tool: &str, arguments: &Value) -> v1::NewPlanStep {
    v1::NewPlanStep {
        device: device.to_owned(),
        tool: tool.to_owned(),
        arguments: arguments.to_string().into_bytes().into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(steps: &[v1::NewPlanStep]) -> Vec<String> {
        let text = |step: &v1::NewPlanStep| {
            let arguments = String::from_utf8_lossy(&step.arguments).into_owned();
            format!("{} {} {arguments}", step.device, step.tool)
        };
        steps.iter().map(text).collect()
    }

    #[test]
    fn yaml_and_json_say_the_same_and_a_step_over_devices_is_one_for_each() {
        let yaml = "
keep_going: true
steps:
  - { device: a, tool: delete_file, arguments: { path: x, confirm: true } }
  - devices: [a, b]
    tool: get_datetime
";
        let json = r#"{"keep_going": true, "steps": [
            {"device": "a", "tool": "delete_file", "arguments": {"path": "x", "confirm": true}},
            {"devices": ["a", "b"], "tool": "get_datetime"}
        ]}"#;
        for text in [yaml, json] {
            let (steps, keep_going) = read(text).unwrap();
            assert!(keep_going);
            assert_eq!(
                shown(&steps),
                [
                    r#"a delete_file {"confirm":true,"path":"x"}"#,
                    "a get_datetime {}",
                    "b get_datetime {}",
                ]
            );
        }
    }

    #[test]
    fn what_is_no_plan_is_a_usage_error() {
        for text in [
            "",
            "steps: 1",
            "step: []",
            "steps: [{tool: x}]",
            "steps: [{device: a, devices: [b], tool: x}]",
            "steps: [{devices: [], tool: x}]",
            "steps: [{device: a, tool: x, args: {}}]",
            "steps: [{device: a, tool: x, arguments: {path: a, path: b}}]",
            r#"{"steps":[{"device":"a","tool":"x","arguments":{"p":[{"a":1,"a":2}]}}]}"#,
        ] {
            assert_eq!(read(text).unwrap_err().exit_code(), 2, "{text}");
        }
        for devices in ["", "a,", "a,b,a"] {
            assert_eq!(over(devices, "x", &Value::Null).unwrap_err().exit_code(), 2, "{devices}");
        }
        assert_eq!(over("a, b", "x", &Value::Null).unwrap().len(), 2);
    }
}
