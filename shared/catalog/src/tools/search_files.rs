//! `search_files`: finds files whose name matches a glob.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `search_files` tool.
#[derive(Debug)]
pub struct SearchFiles;

/// What to look for, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// A glob on the name, such as *.zip; with a slash in it, on the path below the start.
    pub query: String,
    /// Where to start; the home folder of the device's account when left out.
    #[serde(default = "home")]
    pub path: String,
    /// Whether to go into folders below.
    #[serde(default = "yes")]
    pub recursive: bool,
    /// At most this many files, from 1 to 10,000.
    #[serde(default = "hundred")]
    #[schemars(range(min = 1, max = 10_000))]
    pub max_results: u32,
}

fn home() -> String {
    "~".to_owned()
}

const fn yes() -> bool {
    true
}

const fn hundred() -> u32 {
    100
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Match {
    /// The whole path.
    pub path: String,
    /// Size in bytes.
    pub size_bytes: u64,
    /// When it was last changed, RFC 3339 in UTC.
    pub modified: Option<String>,
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The glob.
    pub pattern: String,
    /// Where the search started.
    pub path: String,
    /// The files, by path.
    pub results: Vec<Match>,
    /// How many are given.
    pub count: u64,
    /// Whether there may be more.
    pub truncated: bool,
}

impl Tool for SearchFiles {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "search_files";
    const ARGUMENT_ALIASES: &'static [(&'static str, &'static str)] = &[("pattern", "query")];
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Finds files by name with a glob such as *.zip, from a folder \
        downwards. It looks at names, not at what is in the files.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"search_files","device":"laptop-123","query":"*.zip","path":"~/Downloads"}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::Folder, arguments: r#"{"query":"*"}"# };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        let touches = Touches::path(path(places, &arguments.path)?, Access::Read);
        Ok(if arguments.recursive { touches.and_all_in_it() } else { touches })
    }
}
