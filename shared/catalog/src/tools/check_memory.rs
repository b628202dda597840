//! `check_memory`: whether the device has enough free memory.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::spec::{Category, Tool};

/// The `check_memory` tool.
#[derive(Debug)]
pub struct CheckMemory;

/// How much has to be free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// How much memory has to be available, in units of 1,048,576 bytes.
    pub min_free_mb: u64,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { min_free_mb: 512 }
    }
}

/// The memory, in units of 1,048,576 bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// All memory.
    pub total_mb: u64,
    /// What programs could still have.
    pub available_mb: u64,
    /// Whether enough is available.
    pub ok: bool,
}

impl Tool for CheckMemory {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "check_memory";
    const CATEGORY: Category = Category::Health;
    const DESCRIPTION: &'static str = "Tells whether a device has enough memory available. For which \
        processes use it, use list_processes.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::DeviceInfo];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"check_memory","device":"laptop-123","min_free_mb":1024}"#;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
