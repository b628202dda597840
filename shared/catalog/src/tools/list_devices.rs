//! `list_devices`: the devices of the person who asks.

use std::collections::BTreeMap;

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::{Execution, RunsOn};
use crate::spec::{Category, Tool};

/// The `list_devices` tool.
#[derive(Debug)]
pub struct ListDevices;

/// Which devices.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// A device's name, `label:env=prod`, `group:laptops` or `all`; all when left out.
    #[schemars(length(max = 200))]
    pub selector: Option<String>,
}

/// The devices.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// One entry for each device, by name.
    pub devices: Vec<ListedDevice>,
    /// The number of devices that the selector selects. The list has the first 200 of them.
    pub count: usize,
}

/// One device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ListedDevice {
    /// The device's name.
    pub name: String,
    /// The operating system: `linux`, `macos` or `windows`. Null until the device has connected.
    pub os: Option<String>,
    /// Whether the device is connected.
    pub online: bool,
    /// The labels of the device.
    pub labels: BTreeMap<String, String>,
    /// The tools that the person may call there.
    pub tools: Vec<String>,
    /// The names of the owner's projects, which run_tests and its like take as target.
    pub projects: Vec<String>,
}

impl Tool for ListDevices {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "list_devices";
    const CATEGORY: Category = Category::Device;
    const DESCRIPTION: &'static str = "Lists the person's devices: name, system, whether each is connected, its labels, and \
         the tools that may be called there. Use it to find out which device is meant.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    // Devices may be named by those who enrol them, and say themselves what system they have.
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"list_devices","selector":"all"}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
