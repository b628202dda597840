//! `check_docker`: whether Docker or Podman is installed and runs.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::installed::InstalledDaemon;
use crate::spec::{Category, Tool};

/// The `check_docker` tool.
#[derive(Debug)]
pub struct CheckDocker;

/// Nothing: there is one of it on a device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {}

impl Tool for CheckDocker {
    type Arguments = Arguments;
    type Returns = InstalledDaemon;

    const NAME: &'static str = "check_docker";
    const CATEGORY: Category = Category::Health;
    const DESCRIPTION: &'static str = "Tells whether Docker or Podman is installed on a device, runs, and how many \
        containers run. For one container, use check_service.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::ServiceRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"check_docker","device":"laptop-123"}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
