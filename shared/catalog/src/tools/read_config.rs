//! `read_config`: reads a configuration file as text and as values.

use orion_domain::{Access, Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::path;
use crate::execution::Execution;
use crate::sample::{Sample, Target};
use crate::spec::{Category, Tool};

/// The `read_config` tool.
#[derive(Debug)]
pub struct ReadConfig;

/// How the file is written. Told by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each is its own word")]
pub enum Format {
    Toml,
    Yaml,
    Json,
    Ini,
    Env,
    Other,
}

/// What to read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The file. Relative paths start in the workspace.
    pub path: String,
}

/// What is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The file.
    pub path: String,
    /// How it is written.
    pub format: Format,
    /// Its values; null where it cannot be read as its format, or has none.
    pub parsed: Value,
    /// Why it cannot be read as its format, if so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// The text, as it stands there.
    pub content: String,
}

impl Tool for ReadConfig {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "read_config";
    const CATEGORY: Category = Category::Config;
    const DESCRIPTION: &'static str = "Reads a configuration file (TOML, YAML, JSON, INI, env) as text and as \
        values. Use it before modify_config, which wants lines as they stand.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::FileRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const OF_FILES: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"read_config","device":"laptop-123","path":"Projects/app/settings.toml"}"#;
    const EXECUTION: Execution = Execution::File;
    const SAMPLE: Sample = Sample { target: Target::File, arguments: "{}" };

    fn touches(arguments: &Arguments, places: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::path(path(places, &arguments.path)?, Access::Read))
    }
}
