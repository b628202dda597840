//! `create_directory`: creates a folder.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `create_directory` tool.
#[derive(Debug)]
pub struct CreateDirectory;

/// What to make.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The folder. Relative paths start in the workspace.
    pub path: String,
    /// Whether to make missing folders on the way.
    #[serde(default)]
    pub parents: bool,
}

/// What is there now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The folder.
    pub created_path: String,
    /// Whether it was not there before.
    pub created: bool,
}

impl Tool for CreateDirectory {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "create_directory";
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Makes a folder. The folder above must be there unless parents is \
        true. A folder that is there already is left as it is.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileWrite];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = true;
    const OF_FILES: bool = true;
    const UNDO: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"create_directory","device":"laptop-123","path":"Documents/Test"}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::NewFolder, arguments: "{}" };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::path(path(places, &arguments.path)?, Access::Write))
    }
}
