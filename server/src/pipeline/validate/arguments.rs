//! Parses the arguments of a call into the tool's own type. Every field that does not fit is listed.

mod fields;

use std::collections::HashMap;
use std::sync::LazyLock;

use jsonschema::Validator;
use orion_catalog::{CATALOG, ParsedCall, ToolSpec};
use orion_domain::{Actor, Caller, ErrorCode, Hint, ToolError};
use serde_json::{Map, Value, json};

use super::{Target, complete};
use crate::fleet::DeviceSnapshot;
use crate::pipeline::{Pipeline, undo};
use crate::store::StoreError;

/// Parses a call's arguments into the tool's own type, and resolves an undo to what it does.
///
/// # Errors
/// The database cannot be read. The inner error is `INVALID_ARGUMENT` with every invalid field,
/// `INVALID_PATH`, or `PRECONDITION_FAILED` if nothing can be undone.
pub async fn arguments(
    pipeline: &Pipeline,
    caller: &Caller,
    target: &Target,
    mut arguments: Map<String, Value>,
) -> Result<Result<ParsedCall, ToolError>, StoreError> {
    target.spec.adapt_arguments(target.alias, &mut arguments);
    if let Err(error) = complete(&pipeline.config, target.spec, &mut arguments).await {
        return Ok(Err(error));
    }
    match fitting(target, arguments) {
        Ok(parsed) => undo::as_it_acts(pipeline, caller, target, parsed).await,
        Err(error) => Ok(Err(error)),
    }
}

fn fitting(target: &Target, arguments: Map<String, Value>) -> Result<ParsedCall, ToolError> {
    let spec = target.spec;
    let faults = faults(spec, &arguments);
    if !faults.is_empty() {
        let first = faults.first().and_then(|fault| fault["problem"].as_str()).unwrap_or_default();
        let near = fields::near(spec, &arguments);
        return Err(ToolError::new(
            ErrorCode::InvalidArgument,
            format!("The arguments of {} do not fit: {first}", spec.name),
        )
        .with("fields", faults)
        .with("example", spec.example)
        .suggesting(near)
        .hint(Hint::run("see its arguments", format!("orion tools show {}", spec.name))));
    }
    // What follows depends on the device's paths.
    match target.device.places() {
        Some(places) => spec.parse(arguments, places),
        None => Err(never_connected(&target.device)),
    }
}

fn never_connected(device: &DeviceSnapshot) -> ToolError {
    ToolError::new(ErrorCode::DeviceOffline, format!("{} has not been connected yet.", device.name))
        .hint(Hint::run("start the agent there", "orion-agent run").by(Actor::Owner))
        .hint("or make it with `orion call` and --queue, and it waits for the device")
}

static VALIDATORS: LazyLock<HashMap<&'static str, Validator>> = LazyLock::new(|| {
    CATALOG
        .iter()
        .filter_map(|spec| {
            let validator = jsonschema::validator_for(&spec.arguments_schema()).ok()?;
            Some((spec.name, validator))
        })
        .collect()
});

/// Returns every invalid field, at most sixteen.
fn faults(spec: &ToolSpec, arguments: &Map<String, Value>) -> Vec<Value> {
    let Some(validator) = VALIDATORS.get(spec.name) else { return Vec::new() };
    validator
        .iter_errors(&Value::Object(arguments.clone()))
        .take(16)
        .map(|error| {
            let field = error.instance_path().to_string();
            let problem = fields::problem(&error, !spec.secrets.is_empty());
            let problem: String = problem.chars().take(200).collect();
            json!({"field": field.trim_start_matches('/'), "problem": format!("{problem}.")})
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use orion_catalog::find;

    #[test]
    fn every_schema_compiles() {
        assert_eq!(VALIDATORS.len(), CATALOG.len());
    }

    #[test]
    fn no_fault_shows_a_secret() {
        let (spec, _) = find("install_artifact").unwrap();
        let url = format!("https://files.example/?hunter2{}", "x".repeat(5000));
        for arguments in [json!({"name": "a", "url": url}), json!({"url": ["hunter2"], "x": 1})] {
            let faults = serde_json::to_string(&faults(spec, arguments.as_object().unwrap()));
            let faults = faults.unwrap();
            assert!(faults.contains("url") && !faults.contains("hunter2"), "{faults}");
        }
    }

    #[test]
    fn every_field_at_fault_is_listed() {
        let (spec, _) = find("read_file").unwrap();
        let arguments = json!({"offset": "x", "limit": -1, "nonsense": true});
        let faults = faults(spec, arguments.as_object().unwrap());
        let text = serde_json::to_string(&faults).unwrap();
        for part in ["offset", "limit", "nonsense", "path"] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }
}
