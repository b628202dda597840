//! The calls of a macro: their names, their parameters, and how values take the places of parameters.

use std::collections::BTreeSet;

use orion_domain::{ErrorCode, ToolError, visible};
use serde_json::{Map, Value};

use super::planned_call::PlannedCall;

/// The longest name of a macro or of a parameter, in bytes.
const MAX_NAME_BYTES: usize = 40;
/// The most calls of a macro.
pub const MAX_CALLS: usize = 20;

fn invalid(message: impl Into<String>) -> ToolError {
    ToolError::new(ErrorCode::InvalidArgument, message)
}

fn is_name(name: &str) -> bool {
    let rest =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"_-".contains(&byte);
    name.len() <= MAX_NAME_BYTES
        && name.bytes().next().is_some_and(|byte| byte.is_ascii_lowercase())
        && name.bytes().all(rest)
}

/// Checks the name of a macro.
///
/// # Errors
/// `INVALID_ARGUMENT`.
pub fn check_name(name: &str) -> Result<(), ToolError> {
    if is_name(name) {
        return Ok(());
    }
    Err(invalid(format!(
        "The name of a macro has 1 to {MAX_NAME_BYTES} lower-case letters, digits, `_` or `-`, and begins with a letter."
    )))
}

/// Checks the names of parameters: each is plain, and stands once.
///
/// # Errors
/// `INVALID_ARGUMENT`.
pub(crate) fn check_parameters(parameters: &[String]) -> Result<(), ToolError> {
    let mut seen = BTreeSet::new();
    match parameters.iter().find(|name| !is_name(name) || !seen.insert(*name)) {
        None => Ok(()),
        Some(odd) => Err(invalid(format!(
            "The parameter `{}` has no plain name, or stands twice.",
            visible(odd)
        ))
        .hint("use lower-case letters, digits, `_` and `-`")),
    }
}

/// Checks calls, whose parameters must be exactly these.
///
/// # Errors
/// `INVALID_ARGUMENT`.
pub(crate) fn check_calls(calls: &[PlannedCall], parameters: &[String]) -> Result<(), ToolError> {
    if calls.is_empty() || calls.len() > MAX_CALLS {
        return Err(invalid(format!("A macro has from 1 to {MAX_CALLS} calls.")));
    }
    for call in calls {
        call.check()?;
        if call.tool.starts_with("{{") {
            return Err(invalid("A parameter cannot stand for a tool."));
        }
    }
    let used: BTreeSet<_> = calls.iter().flat_map(used_in).collect();
    let given: BTreeSet<_> = parameters.iter().cloned().collect();
    if let Some(unknown) = used.difference(&given).next() {
        return Err(invalid(format!(
            "The calls use the parameter `{}`, which is not named.",
            visible(unknown)
        ))
        .hint("add it to `parameters`"));
    }
    if let Some(idle) = given.difference(&used).next() {
        return Err(invalid(format!("No call uses the parameter `{idle}`."))
            .hint("write it as a whole value: \"{{name}}\""));
    }
    Ok(())
}

/// Returns the parameter that a text stands for. None where it is a text like any other.
fn parameter(text: &str) -> Option<&str> {
    let name = text.strip_prefix("{{")?.strip_suffix("}}")?;
    (!name.contains(['{', '}'])).then(|| name.trim())
}

/// Returns the parameters that a call uses.
#[must_use]
pub fn used_in(call: &PlannedCall) -> BTreeSet<String> {
    let mut used = BTreeSet::new();
    used.extend(call.device.as_deref().and_then(parameter).map(str::to_owned));
    call.arguments.values().for_each(|value| collect(value, &mut used));
    used
}

fn collect(value: &Value, used: &mut BTreeSet<String>) {
    match value {
        Value::String(text) => used.extend(parameter(text).map(str::to_owned)),
        Value::Array(items) => items.iter().for_each(|item| collect(item, used)),
        Value::Object(fields) => fields.values().for_each(|field| collect(field, used)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns a call with values in the places of its parameters. A value takes the place of a whole value, so that it
/// cannot change what stands around it.
///
/// # Errors
/// `INVALID_ARGUMENT`: a value is missing, or a device is no text.
pub fn filled(call: &PlannedCall, values: &Map<String, Value>) -> Result<PlannedCall, ToolError> {
    let device = match call.device.as_deref().map(|name| (name, parameter(name))) {
        None => None,
        Some((name, None)) => Some(name.to_owned()),
        Some((_, Some(name))) => {
            let device = value_of(name, values)?.as_str().map(str::to_owned);
            let no_text = || invalid(format!("The parameter `{name}` is the name of a device."));
            Some(device.ok_or_else(no_text)?)
        }
    };
    let arguments =
        call.arguments.iter().map(|(name, value)| Ok((name.clone(), fill(value, values)?)));
    let arguments = arguments.collect::<Result<_, ToolError>>()?;
    Ok(PlannedCall { tool: call.tool.clone(), device, arguments })
}

fn fill(value: &Value, values: &Map<String, Value>) -> Result<Value, ToolError> {
    Ok(match value {
        Value::String(text) => match parameter(text) {
            Some(name) => value_of(name, values)?.clone(),
            None => value.clone(),
        },
        Value::Array(items) => {
            items.iter().map(|item| fill(item, values)).collect::<Result<_, _>>()?
        }
        Value::Object(fields) => {
            let fields =
                fields.iter().map(|(name, field)| Ok((name.clone(), fill(field, values)?)));
            Value::Object(fields.collect::<Result<_, ToolError>>()?)
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    })
}

fn value_of<'a>(name: &str, values: &'a Map<String, Value>) -> Result<&'a Value, ToolError> {
    values.get(name).ok_or_else(|| {
        invalid(format!("The parameter `{name}` has no value."))
            .hint(format!("give it in `parameters`, at the command line as {name}=VALUE"))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(value: Value) -> PlannedCall {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_value_takes_the_place_of_a_whole_value_and_of_nothing_less() {
        let step = call(json!({"tool": "write_file", "device": "{{where}}", "arguments": {
            "path": "{{file}}", "content": "{{file}} and {{where}}", "list": [{"x": "{{ many }}"}],
        }}));
        let used: Vec<_> = used_in(&step).into_iter().collect();
        assert_eq!(used, ["file", "many", "where"]);
        let values = json!({"where": "kiosk", "file": "{{where}}", "many": [1, 2]});
        let made = filled(&step, values.as_object().unwrap()).unwrap();
        assert_eq!(made.device.as_deref(), Some("kiosk"));
        assert_eq!(
            Value::Object(made.arguments),
            json!({"path": "{{where}}", "content": "{{file}} and {{where}}", "list": [{"x": [1, 2]}]})
        );
        let missing = filled(&step, json!({"where": "a"}).as_object().unwrap()).unwrap_err();
        assert_eq!(missing.code, ErrorCode::InvalidArgument);
        let odd = json!({"where": 1, "file": "a", "many": 1});
        assert!(filled(&step, odd.as_object().unwrap()).is_err(), "a device is a name");
    }

    #[test]
    fn parameters_are_named_and_used_and_a_macro_is_bounded() {
        let step = call(json!({"tool": "read_file", "arguments": {"path": "{{file}}"}}));
        let names =
            |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        assert_eq!(check_calls(std::slice::from_ref(&step), &names(&["file"])), Ok(()));
        assert!(check_calls(std::slice::from_ref(&step), &[]).is_err());
        assert!(check_calls(std::slice::from_ref(&step), &names(&["file", "other"])).is_err());
        assert!(check_calls(&[], &[]).is_err());
        assert!(check_calls(&vec![step; MAX_CALLS + 1], &names(&["file"])).is_err());
        let tool = call(json!({"tool": "{{file}}"}));
        assert!(check_calls(&[tool], &[]).is_err());
        for odd in [&["A"][..], &["a b"], &[""], &["a", "a"]] {
            assert!(check_parameters(&names(odd)).is_err(), "{odd:?}");
        }
        for (name, good) in [("tidy-up_2", true), ("", false), ("2a", false), ("Tidy", false)] {
            assert_eq!(check_name(name).is_ok(), good, "{name}");
        }
    }
}
