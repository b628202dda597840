//! `modify_config`: replaces lines of a configuration file.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use super::read_config::Format;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `modify_config` tool.
#[derive(Debug)]
pub struct ModifyConfig;

/// One line, and what becomes of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(extend("required" = ["line", "old", "new"]))]
pub struct Change {
    /// The line's number, from 1.
    #[schemars(range(min = 1))]
    pub line: u64,
    /// The exact current line, without its line end.
    pub old: String,
    /// The text in its place; several lines are possible, and null takes the line out.
    // An omitted field deletes nothing: with a custom deserializer, serde requires the field.
    #[serde(deserialize_with = "Option::deserialize")]
    pub new: Option<String>,
}

/// What to change, line by line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file. Relative paths start in the workspace.
    pub path: String,
    /// The changes, from 1 to 100, all made together or not at all. Line numbers are those before
    /// any change.
    #[schemars(length(min = 1, max = 100))]
    pub changes: Vec<Change>,
    /// Must be true: a safety catch. A person must approve the call as well.
    #[serde(default)]
    pub confirm: bool,
}

/// What changed, or in a preview would change.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The file.
    pub path: String,
    /// How it is written.
    pub format: Format,
    /// The difference, as a unified diff.
    pub diff: String,
    /// Where the file as it was before is kept; none in a preview.
    pub backup_path: Option<String>,
}

impl Tool for ModifyConfig {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "modify_config";
    const CATEGORY: Category = Category::Config;
    const DESCRIPTION: &'static str = "Changes lines of a configuration file and keeps everything else as it \
        is, comments included. A result that cannot be read as its format is refused. Read the file with \
        read_config first. Needs confirm: true, and a person approves it.";
    const RISK: Risk = Risk::High;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileRead, Capability::FileWrite];
    const HAS_EFFECTS: bool = true;
    // The new line may equal the old line of another place.
    const IDEMPOTENT: bool = false;
    const OF_FILES: bool = true;
    const UNDO: bool = true;
    const UNTRUSTED: bool = true;
    const WRITES: &'static [&'static str] = &["new"];
    const EXAMPLE: &'static str = r#"{"tool":"modify_config","device":"laptop-123","path":"Projects/app/settings.toml","changes":[{"line":3,"old":"port = 80","new":"port = 8080"}],"confirm":true}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample {
        target: Target::File,
        arguments: r#"{"changes":[{"line":1,"old":"{line}","new":"changed = 1"}]}"#,
    };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        let path = path(places, &arguments.path)?;
        Ok(Touches::path(path.clone(), Access::Read).and_path(path, Access::Write))
    }

    fn confirmed(arguments: &Arguments) -> bool {
        arguments.confirm
    }
}
