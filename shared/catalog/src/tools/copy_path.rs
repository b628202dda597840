//! `copy_path`: copies a file or folder to another place.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `copy_path` tool.
#[derive(Debug)]
pub struct CopyPath;

/// What to copy, and where to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file or folder. Relative paths start in the workspace.
    pub source: String,
    /// The complete new path, its last name included.
    pub destination: String,
    /// Whether a file at the destination may be replaced. It goes to Orion's trash. Folders are never
    /// replaced.
    #[serde(default)]
    pub overwrite: bool,
}

/// What was copied, or in a preview would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// What was copied.
    pub source: String,
    /// Where the copy is.
    pub destination: String,
    /// Bytes in files.
    pub bytes: u64,
    /// Files and folders, itself included.
    pub entries: u64,
    /// Whether a file at the destination was, or in a preview would be, replaced.
    pub replaced: bool,
}

impl Tool for CopyPath {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "copy_path";
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Copies a file, or a folder with everything in it, to a new path on the \
        same device. To move it, use move_path.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileRead, Capability::FileWrite];
    const HAS_EFFECTS: bool = true;
    // The source may change between two runs.
    const IDEMPOTENT: bool = false;
    const UNDO: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"copy_path","device":"laptop-123","source":"report.odt","destination":"Archive/report-2026.odt"}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::Entry, arguments: "{}" };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        let source = path(places, &arguments.source)?;
        let destination = path(places, &arguments.destination)?;
        Ok(Touches::path(source, Access::Read).and_path(destination, Access::Write).and_all_in_it())
    }
}
