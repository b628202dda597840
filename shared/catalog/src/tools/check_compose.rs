//! `check_compose`: whether Docker Compose is installed, and how many of its containers run.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::installed::InstalledDaemon;
use crate::spec::{Category, Tool};

/// The `check_compose` tool.
#[derive(Debug)]
pub struct CheckCompose;

/// Nothing: there is one of it on a device.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {}

impl Tool for CheckCompose {
    type Arguments = Arguments;
    type Returns = InstalledDaemon;

    const NAME: &'static str = "check_compose";
    const CATEGORY: Category = Category::Health;
    const DESCRIPTION: &'static str = "Tells whether Docker Compose is installed on a device, and how many containers of \
        compose projects run. For one of their services, use check_service.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::ServiceRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"check_compose","device":"laptop-123"}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
