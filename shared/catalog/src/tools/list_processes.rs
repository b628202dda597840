//! `list_processes`: the processes that use most of the device.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::spec::{Category, Tool};

/// Maximum number of listed processes.
pub const MAX_LISTED: u32 = 200;

/// The `list_processes` tool.
#[derive(Debug)]
pub struct ListProcesses;

/// What the list is ordered by.
#[derive(
    Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is its own word")]
pub enum SortBy {
    #[default]
    Cpu,
    Memory,
}

/// Which processes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// What the list is ordered by, the largest first: `cpu` or `memory`.
    pub sort_by: SortBy,
    /// How many processes, from 1 to 200.
    #[schemars(range(min = 1, max = 200))]
    pub limit: u32,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { sort_by: SortBy::Cpu, limit: 20 }
    }
}

/// The processes.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The processes that use most, in that order.
    pub processes: Vec<Process>,
    /// How many processes there are in all.
    pub total: u64,
}

/// One process.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// The name of its program, without arguments.
    pub name: String,
    /// Use of the processor over the last moment, percent of one core.
    pub cpu_percent: f64,
    /// Memory that it holds, in bytes.
    pub memory_bytes: u64,
    /// The account that it runs as, by name or by number; none if the device does not report it.
    pub user: Option<String>,
}

impl Tool for ListProcesses {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "list_processes";
    const CATEGORY: Category = Category::App;
    const DESCRIPTION: &'static str = "Lists the processes that use most processor time or memory, with \
        their users. It never shows command lines. For the load of the whole device, use get_device_info.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::DeviceInfo];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"list_processes","device":"laptop-123","sort_by":"memory","limit":5}"#;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
