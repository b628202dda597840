//! `edit_file`: replaces one passage of a text file.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Alias, Category, Tool};

/// The `edit_file` tool.
#[derive(Debug)]
pub struct EditFile;

/// What to change, and into what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file. Relative paths start in the workspace.
    pub path: String,
    /// The exact text to replace, line ends included. It must occur exactly once.
    pub old_text: String,
    /// The text to put in its place.
    pub new_text: String,
}

/// What is there after it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The file.
    pub path: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// What changed, or in a preview would change, as a unified diff.
    pub diff: String,
}

impl Tool for EditFile {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "edit_file";
    const ALIASES: &'static [Alias] = &[Alias::plain("file_edit")];
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Replaces one piece of text in a file. The old text has to stand there \
        exactly once: give enough of the lines around it. To write a whole file, use write_file.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileRead, Capability::FileWrite];
    const HAS_EFFECTS: bool = true;
    // The new text may contain the old one.
    const IDEMPOTENT: bool = false;
    const OF_FILES: bool = true;
    const UNDO: bool = true;
    const UNTRUSTED: bool = true;
    const WRITES: &'static [&'static str] = &["new_text"];
    const EXAMPLE: &'static str = r#"{"tool":"edit_file","device":"laptop-123","path":"notes.md","old_text":"Milk","new_text":"Oat milk"}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample {
        target: Target::File,
        arguments: r#"{"old_text":"{line}","new_text":"changed = 1"}"#,
    };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        let path = path(places, &arguments.path)?;
        Ok(Touches::path(path.clone(), Access::Read).and_path(path, Access::Write))
    }
}
