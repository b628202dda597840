//! `health_check`: several checks of a device at once.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::spec::{Category, Tool};

/// The `health_check` tool.
#[derive(Debug)]
pub struct HealthCheck;

/// A check.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is its own word")]
pub enum Check {
    Disk,
    Memory,
    Network,
    Clock,
    State,
    Git,
    Python,
    Docker,
}

impl Check {
    /// Every check.
    pub const ALL: [Self; 8] = [
        Self::Disk,
        Self::Memory,
        Self::Network,
        Self::Clock,
        Self::State,
        Self::Git,
        Self::Python,
        Self::Docker,
    ];
}

/// Which checks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// Which checks: disk (the workspace), memory, network, clock, state (the agent's own folder), git, python,
    /// docker.
    pub checks: Vec<Check>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { checks: Check::ALL.to_vec() }
    }
}

/// The result of a check, from good to bad.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The device does not tell.
    Skipped,
    /// Good.
    Ok,
    /// A person should look at it.
    Warn,
    /// Bad.
    Fail,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The checks, in the order of the documentation.
    pub checks: Vec<Finding>,
    /// The worst of them.
    pub overall: Status,
}

/// What one check found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// The check.
    pub name: Check,
    /// Its result.
    pub status: Status,
    /// What it found, in one sentence.
    pub detail: String,
}

impl Tool for HealthCheck {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "health_check";
    const CATEGORY: Category = Category::Health;
    const DESCRIPTION: &'static str = "Tells whether a device is well: disk, memory, network, clock, \
        the agent's own folder, Git, Python and Docker. For figures without a verdict, use get_device_info.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::DeviceInfo];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"health_check","device":"laptop-123","checks":["disk","memory"]}"#;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
