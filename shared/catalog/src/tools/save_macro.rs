//! `save_macro`: gives a name to several calls that are made in order.

use std::collections::BTreeSet;

use orion_domain::{ErrorCode, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::macro_calls::{check_calls, check_name, check_parameters, used_in};
use super::planned_call::{PlannedCall, hide_in_calls};
use crate::execution::{Execution, RunsOn};
use crate::secret_argument::SecretArgument;
use crate::spec::{Category, Tool};

/// The `save_macro` tool.
#[derive(Debug)]
pub struct SaveMacro;

/// What to keep.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The name: lower-case letters, digits, `_` and `-`. A macro of the same name is replaced.
    #[schemars(length(min = 1, max = 40))]
    pub name: String,
    /// The calls, in order, at most 20. A value that is exactly `{{name}}` stands for the parameter of that name.
    #[serde(default)]
    #[schemars(length(max = 20))]
    pub calls: Vec<PlannedCall>,
    /// In the place of `calls`: how many of the last calls of this chat that succeeded, at most 20.
    #[serde(default)]
    #[schemars(range(min = 1, max = 20))]
    pub last_n: Option<u32>,
    /// The names of the parameters, at most 10.
    #[serde(default)]
    #[schemars(length(max = 10), inner(length(min = 1, max = 40)))]
    pub parameters: Vec<String>,
}

/// The macro.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// Its name.
    pub name: String,
    /// Its calls.
    pub steps: Vec<PlannedCall>,
    /// The names of its parameters.
    pub parameters: Vec<String>,
    /// Whether a macro of this name was there before.
    pub replaced: bool,
}

impl Arguments {
    /// Checks everything but the calls of the chat.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT`.
    pub fn check(&self) -> Result<(), ToolError> {
        let invalid = |message: &str| ToolError::new(ErrorCode::InvalidArgument, message);
        check_name(&self.name)?;
        check_parameters(&self.parameters)?;
        match (self.calls.is_empty(), self.last_n) {
            (false, None) => check_calls(&self.calls, &self.parameters),
            (true, Some(_)) if self.parameters.is_empty() => Ok(()),
            (true, Some(_)) => Err(invalid("The calls of a chat have no parameters.")
                .hint("give the calls themselves, with `{{name}}` in the places of values")),
            (true, None) | (false, Some(_)) => {
                Err(invalid("A macro is made of calls, or of the last calls of this chat.")
                    .hint("give `calls` or `last_n`, and not both"))
            }
        }
    }

    /// Returns the parameters that the calls use.
    #[must_use]
    pub fn used(&self) -> BTreeSet<String> {
        self.calls.iter().flat_map(used_in).collect()
    }
}

impl Tool for SaveMacro {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "save_macro";
    const CATEGORY: Category = Category::Utility;
    const DESCRIPTION: &'static str = "Keeps several calls under a name, so that the person can make them again in order with \
        run_macro. Use it when the person asks to remember a sequence. It grants nothing: each call is decided by itself \
        whenever the macro runs.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [orion_domain::Capability] = &[];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = false;
    const EXAMPLE: &'static str = r#"{"tool":"save_macro","name":"new-project","calls":[{"tool":"create_directory","device":"laptop-123","arguments":{"path":"{{folder}}"}}],"parameters":["folder"]}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;
    const SECRETS: &'static [SecretArgument] =
        &[SecretArgument { name: "calls", hide: hide_in_calls }];

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        arguments.check()?;
        Ok(Touches::nothing())
    }

    fn reasons(arguments: &Arguments) -> Vec<String> {
        arguments.calls.iter().map(|call| format!("A step: {}.", call.description())).collect()
    }
}
