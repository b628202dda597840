//! `list_llm_models`: the language models that answer chats.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::{Execution, RunsOn};
use crate::spec::{Alias, Category, Tool};

/// The `list_llm_models` tool.
#[derive(Debug)]
pub struct ListLlmModels;

/// No arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {}

/// The models.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The models by what they are for.
    pub models: Groups,
    /// How many there are.
    pub count: usize,
    /// The name of the one that answers where a chat names none. Null where only the built-in planner answers.
    pub default: Option<String>,
}

/// The models by what they are for, each group by provider and name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Groups {
    /// Models for everything.
    pub general: Vec<ListedModel>,
    /// Models for program text.
    pub code: Vec<ListedModel>,
    /// Models that read pictures.
    pub vision: Vec<ListedModel>,
    /// Models that turn text into numbers and answer no chat.
    pub embedding: Vec<ListedModel>,
    /// Models that run at their provider, not on a machine of the person.
    pub cloud: Vec<ListedModel>,
}

/// One model.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub struct ListedModel {
    /// The form of its provider: `anthropic`, `gemini` or `openai`.
    pub provider: String,
    /// The name by which a chat chooses it.
    pub name: String,
    /// Its name at the provider.
    pub model: String,
}

impl Tool for ListLlmModels {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "list_llm_models";
    const ALIASES: &'static [Alias] = &[Alias::plain("list_models")];
    const CATEGORY: Category = Category::Utility;
    const DESCRIPTION: &'static str = "Lists the language models that are configured, grouped by what they are for and by \
         provider. Use it when a person asks which models there are, or which one answers.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"list_llm_models"}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
