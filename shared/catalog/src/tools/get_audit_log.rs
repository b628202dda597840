//! `get_audit_log`: the newest rows of the backend's audit log.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::execution::{Execution, RunsOn};
use crate::spec::{Category, Tool};

/// The `get_audit_log` tool.
#[derive(Debug)]
pub struct GetAuditLog;

/// Which rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// How many rows, the newest first, from 1 to 200.
    #[schemars(range(min = 1, max = 200))]
    pub last_n: u32,
    /// Only rows about calls on the device of this name.
    #[schemars(length(max = 63))]
    pub of_device: Option<String>,
    /// Only rows about calls of this tool.
    #[schemars(length(max = 64))]
    pub of_tool: Option<String>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { last_n: 20, of_device: None, of_tool: None }
    }
}

/// The rows.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The rows, the newest first.
    pub entries: Vec<Entry>,
    /// The number of entries.
    pub count: usize,
}

/// One row of the audit log.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The position in the log.
    pub seq: i64,
    /// When it was recorded, RFC 3339 in UTC.
    pub at: String,
    /// The kind of the event, such as `call.opened`.
    pub kind: String,
    /// The call that it is about. Empty if it is about none.
    pub call_id: String,
    /// The event, as it was recorded.
    pub event: Value,
}

impl Tool for GetAuditLog {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "get_audit_log";
    const ARGUMENT_ALIASES: &'static [(&'static str, &'static str)] = &[("tool", "of_tool")];
    const CATEGORY: Category = Category::Utility;
    const DESCRIPTION: &'static str = "Reads the newest entries of the audit log: who called what, where, and how it was \
         decided and ended. Only an admin may read it.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::AuditRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"get_audit_log","last_n":10,"of_tool":"write_file"}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
