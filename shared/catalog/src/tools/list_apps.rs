//! `list_apps`: the applications of the device's list, and which of them run.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::spec::{Category, Tool};

/// The `list_apps` tool.
#[derive(Debug)]
pub struct ListApps;

/// Which applications.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// Whether to list only applications that run.
    pub running_only: bool,
}

/// The applications.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The applications, by name.
    pub apps: Vec<App>,
}

/// One application.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct App {
    /// Its name on the device's list.
    pub app: String,
    /// The name of its program.
    pub name: Option<String>,
    /// The program that the name is bound to on this device.
    pub executable: Option<String>,
    /// Whether the program is there.
    pub installed: bool,
    /// Whether a process of the agent's own account runs the program.
    pub running: bool,
}

impl Tool for ListApps {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "list_apps";
    const CATEGORY: Category = Category::App;
    const DESCRIPTION: &'static str = "Lists the applications of the device's list, with the program of \
        each and whether it is installed and running. For all processes, use list_processes.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::AppControl];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"list_apps","device":"laptop-123","running_only":true}"#;
    const EXECUTION: Execution = Execution::DesktopApp;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
