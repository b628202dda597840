//! `check_disk_space`: whether the file system of a path has enough free space.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `check_disk_space` tool.
#[derive(Debug)]
pub struct CheckDiskSpace;

/// Where, and how much has to be free.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// A file or folder on the file system to check; the workspace when left out.
    pub path: String,
    /// How much space has to be free, in GiB.
    pub min_free_gb: u64,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { path: ".".to_owned(), min_free_gb: 5 }
    }
}

/// The space of the file system, in GiB to one decimal.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// All space.
    pub total_gb: f64,
    /// What the agent's account could still write.
    pub free_gb: f64,
    /// Whether enough is free.
    pub ok: bool,
}

impl Tool for CheckDiskSpace {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "check_disk_space";
    const CATEGORY: Category = Category::Health;
    const DESCRIPTION: &'static str = "Tells whether the disk of a path has enough free space. For what \
        takes the space, use analyze_disk. For all disks of a device, use get_device_info.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::DeviceInfo];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"check_disk_space","device":"laptop-123","path":"~/Downloads","min_free_gb":20}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::Folder, arguments: r#"{"min_free_gb":0}"# };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::path(path(places, &arguments.path)?, Access::Read))
    }
}
