//! `get_file_info`: returns the metadata of a path, without its content.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list_directory::EntryKind;
use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `get_file_info` tool.
#[derive(Debug)]
pub struct GetFileInfo;

/// What to look at.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file or folder. Relative paths start in the workspace.
    pub path: String,
    /// Whether to read the file and give the SHA-256 of its content.
    #[serde(default)]
    pub sha256: bool,
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The path.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Size in bytes; 0 for anything but files.
    pub size_bytes: u64,
    /// When it was last changed, RFC 3339 in UTC.
    pub modified: Option<String>,
    /// Who may do what, in octal digits such as `644`; none where the device has no such modes.
    pub mode: Option<String>,
    /// The account that it belongs to, by name or by number; none where the device does not tell.
    pub owner: Option<String>,
    /// SHA-256 of the content, in hexadecimal, when asked for.
    pub sha256: Option<String>,
}

impl Tool for GetFileInfo {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "get_file_info";
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Tells what a path is: kind, size, time of the last change, mode, \
        owner and, when asked for, the SHA-256 of a file. For what is in a file, use read_file.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"get_file_info","device":"laptop-123","path":"report.pdf","sha256":true}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::Entry, arguments: "{}" };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::path(path(places, &arguments.path)?, Access::Read))
    }
}
