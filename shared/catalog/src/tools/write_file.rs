//! `write_file`: writes or appends to a file.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
pub use super::read_file::Encoding;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Alias, Category, Tool};

/// The `write_file` tool.
#[derive(Debug)]
pub struct WriteFile;

/// What to write.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file. Relative paths start in the workspace.
    pub path: String,
    /// The text to write, or bytes as base64.
    pub content: String,
    /// utf-8 for text, base64 for anything else.
    #[serde(default)]
    pub encoding: Encoding,
    /// Whether to add to the end instead of replacing everything.
    #[serde(default)]
    pub append: bool,
    /// With append: whether the text starts on a line of its own, also where the file does not end in a line
    /// end.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub own_line: bool,
    /// Whether to make missing folders on the way.
    #[serde(default = "yes")]
    pub create_dirs: bool,
}

const fn yes() -> bool {
    true
}

/// What is there now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The file.
    pub path: String,
    /// Its size in bytes.
    pub size_bytes: u64,
    /// `write` or `append`.
    pub mode: String,
    /// Whether it was not there before.
    pub created: bool,
    /// In a preview: what would change, as a unified diff.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<String>,
}

impl Tool for WriteFile {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "write_file";
    const ALIASES: &'static [Alias] = &[Alias::plain("file_write")];
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Writes text, or bytes as base64, to a file, replacing what was \
        there, or adding to it with append. Missing folders are made.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileWrite];
    const HAS_EFFECTS: bool = true;
    // Appending twice differs from appending once.
    const IDEMPOTENT: bool = false;
    const OF_FILES: bool = true;
    const UNDO: bool = true;
    const UNTRUSTED_PREVIEW: bool = true;
    const WRITES: &'static [&'static str] = &["content"];
    const EXAMPLE: &'static str =
        r#"{"tool":"write_file","device":"laptop-123","path":"notes/today.md","content":"Milk\n"}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::NewFile, arguments: r#"{"append":false}"# };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::path(path(places, &arguments.path)?, Access::Write))
    }
}
