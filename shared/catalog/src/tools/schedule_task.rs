//! `schedule_task`: makes a call at times to come.

use orion_domain::{Capability, ErrorCode, Places, Risk, ToolError, Touches, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::planned_call::{PlannedCall, hide_in_call};
use crate::execution::{Execution, RunsOn};
use crate::request_secrets::{hide_in_fields, holds_digest};
use crate::secret_argument::SecretArgument;
use crate::spec::{Category, Tool};

/// The `schedule_task` tool.
#[derive(Debug)]
pub struct ScheduleTask;

/// Which call, and when.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A name for people. Each of a person's tasks has its own.
    #[schemars(length(min = 1, max = 60))]
    pub name: String,
    /// When the call is made: a cron expression of five fields such as `0 8 * * 1-5`, `every 10m`, or once at an ISO
    /// 8601 time such as `2026-12-24T18:00`.
    #[schemars(length(min = 1, max = 100))]
    pub when: String,
    /// The call. When left out: `macro` names what is run.
    #[serde(default)]
    pub call: Option<PlannedCall>,
    /// The name of a macro to run in the place of a call.
    #[serde(default, rename = "macro")]
    #[schemars(length(max = 40))]
    pub macro_name: Option<String>,
    /// The values of the macro's parameters, by their names.
    #[serde(default)]
    pub parameters: Map<String, Value>,
    /// The IANA name of the time zone, such as `Europe/Brussels`. When left out: the backend's.
    #[serde(default)]
    #[schemars(length(max = 64))]
    pub timezone: Option<String>,
    /// Must be true: a safety catch. A person must approve the call as well.
    #[serde(default)]
    pub confirm: bool,
}

/// The task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The id of the task; null in a preview.
    pub task_id: Option<String>,
    /// Its name.
    pub name: String,
    /// The next times, at most three, RFC 3339 in the time zone.
    pub next_runs: Vec<String>,
    /// The time zone.
    pub timezone: String,
}

impl Arguments {
    /// Returns the call that is made: the call itself, or one that runs the macro.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`.
    pub fn planned(&self) -> Result<PlannedCall, ToolError> {
        let invalid = |message: &str| ToolError::new(ErrorCode::InvalidArgument, message);
        match (&self.call, &self.macro_name) {
            (Some(call), None) if self.parameters.is_empty() => {
                call.check()?;
                Ok(call.clone())
            }
            (Some(_), None) => Err(invalid("Only a macro has parameters.")
                .hint("put the values into the arguments of the call")),
            (None, Some(_)) if is_secret(&self.parameters) => {
                Err(invalid("The parameters hold what looks like a secret.")
                    .hint("a call that is stored for later holds none: run the macro directly"))
            }
            (None, Some(name)) => {
                let mut arguments = Map::new();
                arguments.insert("name".to_owned(), name.as_str().into());
                arguments.insert("parameters".to_owned(), Value::Object(self.parameters.clone()));
                Ok(PlannedCall { tool: "run_macro".to_owned(), device: None, arguments })
            }
            (None, None) | (Some(_), Some(_)) => {
                Err(invalid("A task makes either a call or a macro.")
                    .hint("give `call` or `macro`, and not both"))
            }
        }
    }
}

fn is_secret(parameters: &Map<String, Value>) -> bool {
    let parameters = Value::Object(parameters.clone());
    holds_digest(&parameters) || hide_in_fields(&parameters) != parameters
}

impl Tool for ScheduleTask {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "schedule_task";
    const CATEGORY: Category = Category::Schedule;
    const DESCRIPTION: &'static str = "Makes a call, or runs a macro, at times to come: again and again or once. Use it \
        when the person asks for something to happen later or regularly. Each time the call is made as the person and \
        decided then; what needs approval then waits for it. Needs confirm: true, and a person approves it.";
    const RISK: Risk = Risk::High;
    const CAPABILITIES: &'static [Capability] = &[Capability::Schedule];
    const HAS_EFFECTS: bool = true;
    // A second task of the same name is refused.
    const IDEMPOTENT: bool = false;
    const EXAMPLE: &'static str = r#"{"tool":"schedule_task","name":"disk check","when":"0 8 * * 1-5","call":{"tool":"check_disk_space","device":"nas-1","arguments":{"path":"/srv"}},"timezone":"Europe/Brussels","confirm":true}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;
    const SECRETS: &'static [SecretArgument] = &[
        SecretArgument { name: "call", hide: hide_in_call },
        SecretArgument { name: "parameters", hide: hide_in_fields },
    ];

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        arguments.planned()?;
        Ok(Touches::nothing())
    }

    fn confirmed(arguments: &Arguments) -> bool {
        arguments.confirm
    }

    fn reasons(arguments: &Arguments) -> Vec<String> {
        let Ok(planned) = arguments.planned() else { return Vec::new() };
        let Arguments { when, timezone, .. } = arguments;
        let zone = timezone.as_deref().unwrap_or("the backend's time zone");
        vec![
            format!("It makes this call later: {}.", planned.description()),
            format!("Its times are `{}` in {}.", visible(when), visible(zone)),
            "It makes the call as its requester, until the task is cancelled.".to_owned(),
            "This approval is for the task. A call that needs approval asks at each time."
                .to_owned(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn planned(arguments: Value) -> Result<PlannedCall, String> {
        let arguments: Arguments = serde_json::from_value(arguments).unwrap();
        arguments.planned().map_err(|error| error.message)
    }

    #[test]
    fn a_task_makes_a_call_or_runs_a_macro_and_not_both() {
        let base = |more: Value| {
            let mut all = json!({"name": "a", "when": "every 10m"});
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            planned(all)
        };
        let call = json!({"tool": "read_file", "arguments": {"path": "a"}});
        assert_eq!(base(json!({"call": call})).unwrap().tool, "read_file");
        let run = base(json!({"macro": "tidy", "parameters": {"folder": "x"}})).unwrap();
        assert_eq!((run.tool.as_str(), &run.arguments["name"]), ("run_macro", &json!("tidy")));
        assert_eq!(run.arguments["parameters"], json!({"folder": "x"}));
        let neither = "A task makes either a call or a macro.";
        assert_eq!(base(json!({})).unwrap_err(), neither);
        assert_eq!(base(json!({"call": call, "macro": "tidy"})).unwrap_err(), neither);
        let secret = json!({"macro": "tidy", "parameters": {"token": "hunter2"}});
        let refused = base(secret).unwrap_err();
        assert_eq!(refused, "The parameters hold what looks like a secret.");
        let parameters = json!({"call": call, "parameters": {"a": 1}});
        assert_eq!(base(parameters).unwrap_err(), "Only a macro has parameters.");
        let nested = json!({"call": {"tool": "schedule_task"}});
        assert!(base(nested).unwrap_err().contains("inside another call"));
    }
}
