//! `close_app`: ends an application of the device's list.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::spec::{Category, Tool};

/// The `close_app` tool.
#[derive(Debug)]
pub struct CloseApp;

/// What to close.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The application's name on the device's list, as in open_app.
    pub app: String,
    /// Whether to end processes that do not end when they are asked to. What is not saved is lost.
    #[serde(default)]
    pub force: bool,
    /// Must be true: a safety catch. A person must approve the call as well.
    #[serde(default)]
    pub confirm: bool,
}

/// What ended, or in a preview what would be asked to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The application's name.
    pub app: String,
    /// The ids of the processes that ended, or in a preview would be asked to end.
    pub closed: Vec<u32>,
}

impl Tool for CloseApp {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "close_app";
    const CATEGORY: Category = Category::App;
    const DESCRIPTION: &'static str = "Closes an application of the device's list: asks its processes to \
        end, and ends them with force. Needs confirm: true, and a person approves it.";
    const RISK: Risk = Risk::High;
    const CAPABILITIES: &'static [Capability] = &[Capability::AppControl, Capability::ProcessKill];
    const HAS_EFFECTS: bool = true;
    // A second run would close what was opened in between.
    const IDEMPOTENT: bool = false;
    const EXAMPLE: &'static str =
        r#"{"tool":"close_app","device":"laptop-123","app":"chrome","confirm":true}"#;
    const ALLOWED_DEVICES: &'static [&'static str] = &["linux"];
    const EXECUTION: Execution = Execution::DesktopApp;

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches { apps: vec![arguments.app.clone()], ..Touches::nothing() })
    }

    fn confirmed(arguments: &Arguments) -> bool {
        arguments.confirm
    }
}
