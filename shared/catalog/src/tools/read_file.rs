//! `read_file`: reads a file by lines.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Alias, Category, Tool};

/// The `read_file` tool.
#[derive(Debug)]
pub struct ReadFile;

/// How bytes become text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Encoding {
    /// As UTF-8; bytes that are not are replaced, and the result says so.
    #[default]
    #[serde(rename = "utf-8")]
    Utf8,
    /// As base64, for files that are not text.
    #[serde(rename = "base64")]
    Base64,
}

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file. Relative paths start in the workspace.
    pub path: String,
    /// How many lines to leave out at the start.
    #[serde(default)]
    pub offset: u64,
    /// At most this many lines, from 1 to 100,000.
    #[serde(default = "two_hundred")]
    #[schemars(range(min = 1, max = 100_000))]
    pub limit: u64,
    /// utf-8 for text, base64 for anything else.
    #[serde(default)]
    pub encoding: Encoding,
}

const fn two_hundred() -> u64 {
    200
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The file.
    pub path: String,
    /// The lines asked for.
    pub content: String,
    /// Size of the whole file in bytes.
    pub size_bytes: u64,
    /// How many lines are given.
    pub lines: u64,
    /// How many lines the file has, where it was read to its end.
    pub total_lines: Option<u64>,
    /// Whether there is more.
    pub truncated: bool,
    /// How bytes became text.
    pub encoding: Encoding,
    /// Whether bytes that are no text were replaced.
    pub replaced: bool,
}

impl Tool for ReadFile {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "read_file";
    const ALIASES: &'static [Alias] = &[Alias::plain("file_read")];
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Reads a file, 200 lines at a time; offset and limit page through \
        it. Use base64 for files that are not text.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const OF_FILES: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"read_file","device":"laptop-123","path":"notes/today.md","limit":50}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::File, arguments: "{}" };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::path(path(places, &arguments.path)?, Access::Read))
    }
}
