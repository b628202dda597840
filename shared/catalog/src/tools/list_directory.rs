//! `list_directory`: lists the entries of a folder.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Alias, Category, Tool};

/// The `list_directory` tool.
#[derive(Debug)]
pub struct ListDirectory;

/// What to list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// The folder. Relative paths start in the workspace, which is the first allowed path.
    pub path: String,
    /// Only names that match this glob, such as *.pdf.
    pub pattern: String,
    /// Whether to go into folders below.
    pub recursive: bool,
    /// At most this many entries, from 1 to 10,000.
    #[schemars(range(min = 1, max = 10_000))]
    pub max_results: u32,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { path: ".".to_owned(), pattern: "*".to_owned(), recursive: false, max_results: 1000 }
    }
}

/// What kind of thing a name stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[expect(missing_docs, reason = "each is its own word")]
pub enum EntryKind {
    File,
    Directory,
    Link,
    Other,
}

/// One entry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Entry {
    /// The name alone.
    pub name: String,
    /// The whole path.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Whether it is a folder.
    pub is_dir: bool,
    /// Size in bytes; 0 for anything but files.
    pub size_bytes: u64,
    /// When it was last changed, RFC 3339 in UTC.
    pub modified: Option<String>,
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The folder.
    pub path: String,
    /// The glob that the names had to match.
    pub pattern: String,
    /// Its entries, by path.
    pub entries: Vec<Entry>,
    /// How many are listed.
    pub count: u64,
    /// Whether there are more.
    pub truncated: bool,
}

impl Tool for ListDirectory {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "list_directory";
    const ALIASES: &'static [Alias] = &[Alias::plain("file_list")];
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Lists what is in a folder: names, sizes, times. Use it to look \
        around. To find files by name in a large tree, use search_files.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"list_directory","device":"laptop-123","path":"Documents","pattern":"*.pdf"}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample =
        Sample { target: Target::Folder, arguments: r#"{"pattern":"*","recursive":true}"# };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        let touches = Touches::path(path(places, &arguments.path)?, Access::Read);
        Ok(if arguments.recursive { touches.and_all_in_it() } else { touches })
    }
}
