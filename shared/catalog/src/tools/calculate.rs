//! `calculate`: evaluates an arithmetic expression.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::{Execution, RunsOn};
use crate::spec::{Category, Tool};

/// The `calculate` tool.
#[derive(Debug)]
pub struct Calculate;

/// What to calculate.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Numbers with `+ - * / // % **`, a minus sign before a number, and brackets.
    #[schemars(length(min = 1, max = 1000))]
    pub expression: String,
}

/// The value of the expression.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The expression that was evaluated.
    pub expression: String,
    /// The value in decimal digits. Text, because a JSON number would round a large integer.
    pub result: String,
    /// Whether the value is an exact integer. Any other value has about 16 digits.
    pub exact: bool,
}

impl Tool for Calculate {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "calculate";
    const CATEGORY: Category = Category::Utility;
    const DESCRIPTION: &'static str = "Evaluates an arithmetic expression with + - * / // % ** and brackets. Use it for every \
         calculation instead of working it out yourself. It knows no variables and no functions.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"calculate","expression":"(3 + 4) * 12"}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
