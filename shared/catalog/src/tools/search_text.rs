//! `search_text`: finds lines in files that match a regular expression.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Alias, Category, Tool};

/// The `search_text` tool.
#[derive(Debug)]
pub struct SearchText;

/// One line that matches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Match {
    /// The file, by its whole path.
    pub path: String,
    /// The line's number, from 1.
    pub line: u64,
    /// The line, without its end; a long one is cut at 500 characters.
    pub text: String,
}

/// What to look for, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A regular expression, matched line by line; (?i) at its start lets case not count.
    pub pattern: String,
    /// A folder to search below, or one file; the workspace when left out.
    #[serde(default = "here")]
    pub path: String,
    /// Only files whose name matches this glob; with a slash in it, whose path below the start does.
    #[serde(default = "any")]
    pub glob: String,
    /// At most this many lines, from 1 to 5,000.
    #[serde(default = "two_hundred")]
    #[schemars(range(min = 1, max = 5_000))]
    pub max_results: u32,
}

fn here() -> String {
    ".".to_owned()
}

fn any() -> String {
    "*".to_owned()
}

const fn two_hundred() -> u32 {
    200
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The regular expression.
    pub pattern: String,
    /// Where the search started.
    pub path: String,
    /// The lines, by path and number.
    pub matches: Vec<Match>,
    /// How many are given.
    pub count: u64,
    /// Whether there may be more.
    pub truncated: bool,
    /// How many files were searched.
    pub files_searched: u64,
    /// How many files could not be read, or not to their end.
    pub files_skipped: u64,
    /// How many of those were left at a line that is too long for the expression.
    pub files_with_long_lines: u64,
}

impl Tool for SearchText {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "search_text";
    const ALIASES: &'static [Alias] = &[Alias::plain("search_code")];
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Finds lines in text files with a regular expression, in a folder and \
        all below it. Files that are not text are passed over. To find files by name, use search_files.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"search_text","device":"laptop-123","pattern":"fn main","path":"Projects","glob":"*.rs"}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample =
        Sample { target: Target::Folder, arguments: r#"{"pattern":".","glob":null}"# };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::path(path(places, &arguments.path)?, Access::Read).and_all_in_it())
    }
}
