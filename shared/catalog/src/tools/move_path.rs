//! `move_path`: moves or renames a file or folder.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `move_path` tool.
#[derive(Debug)]
pub struct MovePath;

/// What to move, and where to.
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

/// What was moved, or in a preview would be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// Where it was.
    pub source: String,
    /// Where it is after that.
    pub destination: String,
    /// Bytes in files.
    pub bytes: u64,
    /// Files and folders, itself included.
    pub entries: u64,
    /// Whether a file at the destination was, or in a preview would be, replaced.
    pub replaced: bool,
}

impl Tool for MovePath {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "move_path";
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Moves or renames a file or folder on the same device. The destination is \
        the whole new path, its last name included.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] =
        &[Capability::FileRead, Capability::FileWrite, Capability::FileDelete];
    const HAS_EFFECTS: bool = true;
    // A second run would move whatever is at the source by then.
    const IDEMPOTENT: bool = false;
    const OF_FILES: bool = true;
    const UNDO: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"move_path","device":"laptop-123","source":"draft.md","destination":"Done/letter.md"}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::Entry, arguments: "{}" };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        let source = path(places, &arguments.source)?;
        let destination = path(places, &arguments.destination)?;
        Ok(Touches::path(source.clone(), Access::Read)
            .and_path(source, Access::Delete)
            .and_path(destination, Access::Write)
            .and_all_in_it())
    }
}
