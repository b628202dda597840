//! `list_macros`: the macros of the person who asks.

use orion_domain::{Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::planned_call::PlannedCall;
use crate::execution::{Execution, RunsOn};
use crate::spec::{Category, Tool};

/// The `list_macros` tool.
#[derive(Debug)]
pub struct ListMacros;

/// Which macros.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Only the macro of this name. When left out: all macros.
    #[serde(default)]
    #[schemars(length(max = 40))]
    pub name: Option<String>,
}

/// The macros.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The macros, by name.
    pub macros: Vec<Macro>,
    /// The number of macros.
    pub count: usize,
}

/// A macro.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Macro {
    /// Its name.
    pub name: String,
    /// Its calls.
    pub steps: Vec<PlannedCall>,
    /// The names of its parameters.
    pub parameters: Vec<String>,
    /// Whether somebody else may have written it.
    pub untrusted: bool,
}

impl Tool for ListMacros {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "list_macros";
    const CATEGORY: Category = Category::Utility;
    const DESCRIPTION: &'static str =
        "Lists the person's macros: their names, calls and parameters. Use it before run_macro.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [orion_domain::Capability] = &[];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"list_macros"}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const UNTRUSTED: bool = true;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
