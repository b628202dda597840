//! `analyze_disk`: finds the largest files and folders below a folder.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `analyze_disk` tool.
#[derive(Debug)]
pub struct AnalyzeDisk;

/// Something large.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Large {
    /// The whole path.
    pub path: String,
    /// Size in bytes; for a folder, of all files below it.
    pub size_bytes: u64,
}

/// Where to look, and what counts as large.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The folder; the workspace when left out.
    #[serde(default = "here")]
    pub path: String,
    /// Folders and files of at least this size are listed, in units of 1,048,576 bytes.
    #[serde(default = "hundred")]
    pub threshold_mb: u64,
}

fn here() -> String {
    ".".to_owned()
}

const fn hundred() -> u64 {
    100
}

/// What takes the room.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The folder.
    pub path: String,
    /// The largest folders below it, at most twenty, the largest first.
    pub directories: Vec<Large>,
    /// The largest files below it, at most twenty, the largest first.
    pub files: Vec<Large>,
    /// Bytes in all files below it. A file with several names counts once for each.
    pub total_bytes: u64,
    /// Files and folders that were counted.
    pub entries: u64,
    /// Whether something was left out at a limit or could not be read.
    pub truncated: bool,
}

impl Tool for AnalyzeDisk {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "analyze_disk";
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Tells which folders and files below a folder take the most room. \
        For how full the disk is, use get_device_info.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"analyze_disk","device":"laptop-123","path":"~/Downloads","threshold_mb":50}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::Folder, arguments: r#"{"threshold_mb":0}"# };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::path(path(places, &arguments.path)?, Access::Read).and_all_in_it())
    }
}
