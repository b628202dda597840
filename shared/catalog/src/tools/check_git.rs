//! `check_git`: whether Git is installed, and in which version.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::installed::{InstalledProgram, version};
use crate::spec::{Category, Tool};

/// The `check_git` tool.
#[derive(Debug)]
pub struct CheckGit;

/// Which version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// The earliest version that is enough.
    #[schemars(length(max = 32))]
    pub min_version: String,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { min_version: "2.0".to_owned() }
    }
}

impl Tool for CheckGit {
    type Arguments = Arguments;
    type Returns = InstalledProgram;

    const NAME: &'static str = "check_git";
    const CATEGORY: Category = Category::Health;
    const DESCRIPTION: &'static str =
        "Tells whether Git is installed on a device, where, and in which version.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::DeviceInfo];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"check_git","device":"laptop-123","min_version":"2.30"}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        version(&arguments.min_version)?;
        Ok(Touches::nothing())
    }
}
