//! The models that people talk to: what is asked, what comes back, and which kinds there are.
//!
//! A provider turns a [`Request`] into an [`Answer`] and nothing more. It never runs a call: what a
//! model asks for, natively or as text, goes through the pipeline like everything else.

mod config;
mod error;
mod openai;
mod planner;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use config::{ModelConfig, ModelKind, ToolCalls};
pub use error::ModelError;
pub use openai::{OpenAi, text_prompt};
pub use planner::Planner;

/// Who said something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each is its own word")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// One turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Who said it.
    pub role: Role,
    /// What was said; for [`Role::Tool`] the result envelope as JSON, possibly cut at a limit.
    pub content: String,
    /// The native calls that an assistant made in this turn.
    #[serde(default)]
    pub tool_calls: Vec<NativeCall>,
    /// For [`Role::Tool`]: the id of the native call that this answers; none for a call that was
    /// found in text.
    #[serde(default)]
    pub tool_call_id: Option<String>,
}

impl Message {
    /// What the model is told before anything else.
    #[must_use]
    pub fn system(content: impl Into<String>) -> Self {
        Self::new(Role::System, content)
    }

    /// What a person said.
    #[must_use]
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(Role::User, content)
    }

    /// What the model said, and the calls it made.
    #[must_use]
    pub fn assistant(content: impl Into<String>, tool_calls: Vec<NativeCall>) -> Self {
        Self { tool_calls, ..Self::new(Role::Assistant, content) }
    }

    /// The result of the call with that id.
    #[must_use]
    pub fn tool(tool_call_id: impl Into<String>, content: impl Into<String>) -> Self {
        Self { tool_call_id: Some(tool_call_id.into()), ..Self::new(Role::Tool, content) }
    }

    fn new(role: Role, content: impl Into<String>) -> Self {
        Self { role, content: content.into(), tool_calls: Vec::new(), tool_call_id: None }
    }
}

/// A call in the provider's own form. Nothing about it has been checked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeCall {
    /// Never empty and unique within its answer.
    pub id: String,
    /// The tool's name as the model gave it; empty where it gave none.
    pub name: String,
    /// What should be a JSON object, as the model gave it.
    pub arguments: String,
}

/// A tool as a model is told of it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// Its name.
    pub name: String,
    /// What it does, when to use it, when not.
    pub description: String,
    /// JSON Schema of its arguments, `device` and `dry_run` included.
    pub parameters: Value,
}

/// What a model is asked.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// The conversation so far, oldest first.
    pub messages: Vec<Message>,
    /// What it may call.
    pub tools: Vec<ToolDefinition>,
}

/// What a model answered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// Its words, which may hold calls as text.
    pub text: String,
    /// Its calls in the provider's own form.
    pub native_calls: Vec<NativeCall>,
    /// Whether it was cut off at the provider's limit or ended without saying that it was done.
    pub truncated: bool,
}

/// A model that can be talked to.
#[derive(Debug)]
pub enum Model {
    /// Any server that speaks the form of OpenAI's chat completions.
    OpenAi(Box<OpenAi>),
    /// The built-in planner, which is no language model.
    Planner(Planner),
}

impl Model {
    /// The model of one `[[models]]` section. Reads the key's file or environment variable, and
    /// connects to nothing.
    ///
    /// # Errors
    /// [`ModelError::BadConfig`] where the section cannot work.
    pub fn new(config: &ModelConfig) -> Result<Self, ModelError> {
        config.check()?;
        match config.kind {
            ModelKind::Openai => Ok(Self::OpenAi(Box::new(OpenAi::new(config)?))),
            ModelKind::Planner => Ok(Self::Planner(Planner)),
        }
    }

    /// Asks the model. `on_text` gets each piece of its words as it comes.
    ///
    /// # Errors
    /// The model could not be reached, refused, broke off or said too much.
    pub async fn complete(
        &self,
        request: &Request,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Answer, ModelError> {
        match self {
            Self::OpenAi(model) => model.complete(request, on_text).await,
            Self::Planner(planner) => {
                let text = planner.answer(request);
                on_text(&text);
                Ok(Answer { text, ..Answer::default() })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_planner_answers_through_the_same_door() {
        let config: ModelConfig = toml::from_str("name = \"planner\"\nkind = \"planner\"").unwrap();
        let request =
            Request { messages: vec![Message::user("Maak een folder Test")], tools: Vec::new() };
        let mut heard = String::new();
        let answer = Model::new(&config)
            .unwrap()
            .complete(&request, &mut |text| heard.push_str(text))
            .await
            .unwrap();
        let text = r#"{"tool":"create_directory","path":"Test"}"#.to_owned();
        assert_eq!(heard, text);
        assert_eq!(answer, Answer { text, native_calls: Vec::new(), truncated: false });
    }
}
