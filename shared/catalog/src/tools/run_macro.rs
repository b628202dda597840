//! `run_macro`: makes the calls of a macro in order.

use std::time::Duration;

use orion_domain::{Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::macro_calls::check_name;
use crate::execution::{Execution, RunsOn};
use crate::request_secrets::hide_in_fields;
use crate::secret_argument::SecretArgument;
use crate::spec::{Category, Tool};

/// The `run_macro` tool.
#[derive(Debug)]
pub struct RunMacro;

/// Which macro.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The name of the macro.
    #[schemars(length(min = 1, max = 40))]
    pub name: String,
    /// The values of its parameters, by their names.
    #[serde(default)]
    pub parameters: Map<String, Value>,
}

/// What became of the calls.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The name of the macro.
    pub name: String,
    /// Its calls as they were made, in order; in a preview, as they would be.
    pub steps: Vec<Step>,
    /// The number of calls that succeeded.
    pub succeeded: usize,
}

/// A call of a macro.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The tool.
    pub tool: String,
    /// The device that the macro names; null where it names none.
    pub device: Option<String>,
    /// The arguments, with the values of the parameters in their places. Where a call was made, it has them.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub arguments: Map<String, Value>,
    /// The id of the call; null where none was made.
    pub call_id: Option<String>,
    /// The state of the call, or `skipped` where none was made.
    pub state: String,
    /// What the call says of its end, a sentence.
    pub message: String,
    /// What the call returned, at most 8 KiB; null where it returned nothing or more.
    pub result: Option<Value>,
}

impl Tool for RunMacro {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "run_macro";
    const CATEGORY: Category = Category::Utility;
    const DESCRIPTION: &'static str = "Makes the calls of a macro of the person in order, and stops at the first that does not \
        succeed. Each call is decided by itself: one that needs approval waits for it. A dry run shows the calls and makes \
        none. Use list_macros to see what there is.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [orion_domain::Capability] = &[];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = false;
    // The results of the calls may be untrusted.
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"run_macro","name":"new-project","parameters":{"folder":"Projects/garden"}}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;
    const SECRETS: &'static [SecretArgument] =
        &[SecretArgument { name: "parameters", hide: hide_in_fields }];
    const TIMEOUT: Option<Duration> = Some(Duration::from_mins(10));

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        check_name(&arguments.name)?;
        Ok(Touches::nothing())
    }
}
