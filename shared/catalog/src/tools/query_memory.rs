//! `query_memory`: finds the memories of the person who asks.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::{Execution, RunsOn};
use crate::spec::{Category, Tool};

/// The `query_memory` tool.
#[derive(Debug)]
pub struct QueryMemory;

/// Which memories.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// Words that the memory has, in its text or its tags. Empty for the newest memories.
    #[schemars(length(max = 400))]
    pub query: String,
    /// Only memories with all of these tags.
    #[schemars(length(max = 8), inner(length(min = 1, max = 40)))]
    pub tags: Vec<String>,
    /// How many memories.
    #[schemars(range(min = 1, max = 50))]
    pub limit: u32,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { query: String::new(), tags: Vec::new(), limit: 10 }
    }
}

/// The memories.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The memories: those with most of the words first, or the newest first.
    pub matches: Vec<Match>,
    /// The number of memories that are returned.
    pub count: usize,
}

/// One memory.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Match {
    /// The memory's id.
    pub id: String,
    /// The text.
    pub text: String,
    /// The tags.
    pub tags: Vec<String>,
    /// How well it matches, higher is better. 0 without words.
    pub score: f64,
    /// When it was written, RFC 3339 in UTC.
    pub created_at: String,
    /// Whether strangers may have written it.
    pub untrusted: bool,
}

impl Tool for QueryMemory {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "query_memory";
    const CATEGORY: Category = Category::Memory;
    const DESCRIPTION: &'static str = "Finds what was kept for the person with write_memory, by words and tags. Use it when the \
         person refers to something that they told you before.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::Memory];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"query_memory","query":"backups","limit":5}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
