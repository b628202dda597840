//! Calls inside the arguments of another call: what a schedule makes at its times, and the steps of a macro.

use orion_domain::{ErrorCode, ToolError, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::CATALOG;
use crate::request_secrets::{hide_in_field, holds_digest};
use crate::secret_argument::{hidden, hide_text};
use crate::spec::ToolSpec;

/// The most bytes of the arguments of one such call.
pub const MAX_ARGUMENT_BYTES: usize = 16 * 1024;

/// Tools that begin further calls. A call inside another call is none of them, so that no call can go on without end.
const BEGIN_CALLS: [&str; 3] = ["run_macro", "save_macro", "schedule_task"];

/// A call that is made later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlannedCall {
    /// The name of the tool.
    #[schemars(length(min = 1, max = 64))]
    pub tool: String,
    /// The name of the device. When left out: the backend for a tool that runs there, else the only device.
    #[serde(default)]
    #[schemars(length(max = 63))]
    pub device: Option<String>,
    /// The arguments of the tool.
    #[serde(default)]
    pub arguments: Map<String, Value>,
}

impl PlannedCall {
    /// Checks what can be checked without a device: the size, that the call begins no others, and that it holds no
    /// secret, because it is stored and shown.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`, without any value of the arguments.
    pub fn check(&self) -> Result<(), ToolError> {
        let invalid = |message: String| ToolError::new(ErrorCode::InvalidArgument, message);
        let shown = visible(&self.tool);
        let own = spec_of(&self.tool).map_or(self.tool.as_str(), |spec| spec.name);
        if BEGIN_CALLS.contains(&own) {
            return Err(invalid(format!("{shown} cannot be called inside another call."))
                .hint("give the calls themselves"));
        }
        if Value::Object(self.arguments.clone()).to_string().len() > MAX_ARGUMENT_BYTES {
            return Err(invalid(format!(
                "The arguments of {shown} have more than {MAX_ARGUMENT_BYTES} bytes."
            )));
        }
        if self.arguments.values().any(holds_digest) {
            return Err(invalid(format!("The arguments of {shown} hold a digest that stands for a secret."))
                .hint("a secret cannot be repeated from what is shown: make the call directly, with the secret itself"));
        }
        let is_known = spec_of(&self.tool).is_some();
        if is_known && without_secrets(&self.tool, self.arguments.clone()) != self.arguments {
            return Err(invalid(format!("The arguments of {shown} hold a secret."))
                .hint("a call that is stored for later holds none: make it directly"));
        }
        Ok(())
    }

    /// Describes the call for its approver: the tool, the device and the arguments, without what looks like a secret.
    #[must_use]
    pub fn description(&self) -> String {
        let on = self.device.as_deref().map(|device| format!(" on {device}")).unwrap_or_default();
        let arguments = Value::Object(without_secrets(&self.tool, self.arguments.clone()));
        visible(&format!("{}{on} {arguments}", self.tool))
    }
}

/// Returns the tool with this name or alias.
fn spec_of(name: &str) -> Option<&'static ToolSpec> {
    CATALOG
        .iter()
        .find(|spec| spec.name == name || spec.aliases.iter().any(|alias| alias.name == name))
}

/// Returns arguments without their secrets. Of an alias, of a custom tool and of a macro's parameters nobody knows here
/// which are secret, so names and looks decide.
fn without_secrets(tool: &str, mut arguments: Map<String, Value>) -> Map<String, Value> {
    match spec_of(tool) {
        Some(spec) => {
            drop(spec.take_secrets(&mut arguments));
            arguments
        }
        None => arguments
            .into_iter()
            .map(|(name, value)| {
                let shown = hide_in_field(&name, &value);
                (name, shown)
            })
            .collect(),
    }
}

/// Hides the secrets in an argument that is a planned call.
pub(crate) fn hide_in_call(call: &Value) -> Value {
    let Value::Object(fields) = call else { return hide_text(call, hidden) };
    let mut shown = fields.clone();
    let tool = fields.get("tool").and_then(Value::as_str).unwrap_or_default();
    if let Some(arguments) = shown.get_mut("arguments") {
        let given = std::mem::take(arguments);
        *arguments = if let Value::Object(arguments) = given {
            Value::Object(without_secrets(tool, arguments))
        } else {
            hide_text(&given, hidden)
        };
    }
    Value::Object(shown)
}

/// Hides the secrets in an argument that is a list of planned calls.
pub(crate) fn hide_in_calls(calls: &Value) -> Value {
    let Value::Array(calls) = calls else { return hide_text(calls, hidden) };
    calls.iter().map(hide_in_call).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(value: Value) -> PlannedCall {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn a_call_that_holds_a_secret_or_begins_others_is_refused_and_never_shown_with_it() {
        let secret = json!({"tool": "http_request", "arguments": {
            "url": "https://a.example/?token=hunter2", "headers": {"api-key": "hunter2"},
        }});
        let error = call(secret.clone()).check().unwrap_err();
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
        for shown in [hide_in_call(&secret), hide_in_calls(&json!([secret]))] {
            assert!(!shown.to_string().contains("hunter2"), "{shown}");
        }
        // An alias may stand for any tool.
        let alias = json!({"tool": "notify-me", "arguments": {"headers": {"api-key": "hunter2"}}});
        assert!(!hide_in_call(&alias).to_string().contains("hunter2"));
        assert!(!call(alias).description().contains("hunter2"));
        for odd in [json!("hunter2"), json!({"tool": "read_file", "arguments": "hunter2"})] {
            assert!(!hide_in_call(&odd).to_string().contains("hunter2"), "{odd}");
        }
        for tool in ["run_macro", "save_macro", "schedule_task"] {
            let error = call(json!({"tool": tool})).check().unwrap_err();
            assert!(error.message.contains("inside another call"), "{error:?}");
        }
        let shown = json!({"tool": "read_file", "arguments": {"path": hidden("hunter2")}});
        assert!(call(shown).check().unwrap_err().message.contains("digest"));
        let long = json!({"tool": "read_file", "arguments": {"path": "x".repeat(20_000)}});
        assert!(call(long).check().is_err());
        let good = json!({"tool": "read_file", "device": "kiosk", "arguments": {"path": "a"}});
        assert_eq!(hide_in_call(&good), good);
        let good = call(good);
        assert_eq!(good.check(), Ok(()));
        assert_eq!(good.description(), r#"read_file on kiosk {"path":"a"}"#);
    }
}
