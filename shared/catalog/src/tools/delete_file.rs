//! `delete_file`: moves a file to Orion's trash.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `delete_file` tool.
#[derive(Debug)]
pub struct DeleteFile;

/// What to delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file. Relative paths start in the workspace.
    pub path: String,
    /// Must be true: a safety catch. A person must approve the call as well.
    #[serde(default)]
    pub confirm: bool,
}

/// What went, or in a preview what would go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The file.
    pub path: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// Where it can be found in the trash; none in a preview.
    pub trash_id: Option<String>,
}

impl Tool for DeleteFile {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "delete_file";
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Deletes one file, or a link but not what it leads to, by moving it to \
        Orion's trash on the device. Needs confirm: true, and a person approves it.";
    const RISK: Risk = Risk::High;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileWrite, Capability::FileDelete];
    const HAS_EFFECTS: bool = true;
    // A second run would delete whatever was created under the same name in between.
    const IDEMPOTENT: bool = false;
    const UNDO: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"delete_file","device":"laptop-123","path":"old/notes.txt","confirm":true}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::Entry, arguments: "{}" };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::path(path(places, &arguments.path)?, Access::Delete))
    }

    fn confirmed(arguments: &Arguments) -> bool {
        arguments.confirm
    }
}
