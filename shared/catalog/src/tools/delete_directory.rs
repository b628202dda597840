//! `delete_directory`: moves a folder to Orion's trash.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `delete_directory` tool.
#[derive(Debug)]
pub struct DeleteDirectory;

/// What to delete.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The folder. Relative paths start in the workspace.
    pub path: String,
    /// Whether to delete it with everything in it.
    #[serde(default)]
    pub recursive: bool,
    /// Must be true: a safety catch. A person must approve the call as well.
    #[serde(default)]
    pub confirm: bool,
}

/// What went, or in a preview what would go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The folder.
    pub path: String,
    /// How many files and folders, the folder itself included.
    pub entries: u64,
    /// How many bytes in files.
    pub bytes: u64,
    /// Where it can be found in the trash; none in a preview.
    pub trash_id: Option<String>,
    /// In a preview: the first names in it.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub first_entries: Vec<String>,
}

impl Tool for DeleteDirectory {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "delete_directory";
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Deletes a folder by moving it to Orion's trash on the device. An \
        empty folder, unless recursive is true. Needs confirm: true, and a person approves it.";
    const RISK: Risk = Risk::High;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileWrite, Capability::FileDelete];
    const HAS_EFFECTS: bool = true;
    // A second run would delete whatever was created under the same name in between.
    const IDEMPOTENT: bool = false;
    const UNDO: bool = true;
    const UNTRUSTED_PREVIEW: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"delete_directory","device":"laptop-123","path":"Documents/Old","recursive":true,"confirm":true}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::Folder, arguments: "{}" };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        let touches = Touches::path(path(places, &arguments.path)?, Access::Delete);
        Ok(if arguments.recursive { touches.and_all_in_it() } else { touches })
    }

    fn confirmed(arguments: &Arguments) -> bool {
        arguments.confirm
    }
}
