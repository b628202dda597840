//! `write_memory`: keeps a text for the person who asks, to be found again in later chats.

use orion_domain::{Capability, Places, Risk, ToolError, ToolFacts, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::{Execution, RunsOn};
use crate::spec::{Category, Tool};

/// The `write_memory` tool.
#[derive(Debug)]
pub struct WriteMemory;

/// What to keep.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The text, complete in itself.
    #[schemars(length(min = 1, max = 4000))]
    pub text: String,
    /// Words to find it by, each of 1 to 40 characters.
    #[serde(default)]
    #[schemars(length(max = 8), inner(length(min = 1, max = 40)))]
    pub tags: Vec<String>,
}

/// The memory.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The memory's id. Null for a dry run.
    pub id: Option<String>,
    /// The text that is kept.
    pub text: String,
    /// Its tags, in order, each once.
    pub tags: Vec<String>,
    /// Whether it counts as untrusted: untrusted content was in the chat, or no signed-in person made the call.
    /// Null for a dry run.
    pub untrusted: Option<bool>,
}

impl Tool for WriteMemory {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "write_memory";
    const CATEGORY: Category = Category::Memory;
    const DESCRIPTION: &'static str = "Keeps a text about the person or their devices, so that it can be found in later chats \
         with query_memory. Use it when the person asks to remember something. Never keep passwords or keys.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::Memory];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = false;
    const WRITES: &'static [&'static str] = &["text"];
    const EXAMPLE: &'static str = r#"{"tool":"write_memory","text":"Ann's backups run on nas-1 at 03:00.","tags":["backup"]}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }

    fn facts(_: &Arguments, facts: ToolFacts<'static>) -> ToolFacts<'static> {
        // The person takes it back with `orion memory forget`.
        ToolFacts { can_undo: true, ..facts }
    }
}
