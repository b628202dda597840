//! `search_directory`: finds folders by name, near the start of an allowed path.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `search_directory` tool.
#[derive(Debug)]
pub struct SearchDirectory;

/// What to look for, and where.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The folder's name, or a part of it; case does not count.
    pub name: String,
    /// Where to start; the workspace when left out.
    #[serde(default = "here")]
    pub base: String,
    /// How many folders deep to look, from 1 to 3.
    #[serde(default = "three")]
    #[schemars(range(min = 1, max = 3))]
    pub max_depth: u32,
}

fn here() -> String {
    ".".to_owned()
}

const fn three() -> u32 {
    3
}

/// What was found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The name that was looked for.
    pub query: String,
    /// Where the search started.
    pub base: String,
    /// The best matches, at most five: exact names first, then those nearest to the start.
    pub matches: Vec<String>,
    /// How many are given.
    pub count: u64,
}

impl Tool for SearchDirectory {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "search_directory";
    const CATEGORY: Category = Category::File;
    const DESCRIPTION: &'static str = "Finds a folder by its name or a part of it, at most three folders \
        deep. Use it when a folder's place is not known; for files use search_files.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"search_directory","device":"laptop-123","name":"invoices","base":"~"}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::Folder, arguments: r#"{"name":"{name}"}"# };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::path(path(places, &arguments.base)?, Access::Read).and_all_in_it())
    }
}
