//! The models that people chat with: requests, answers and the kinds of models.
//!
//! A provider turns a [`Request`] into an [`Answer`] and nothing more. It never runs a call: each call of a
//! model, native or as text, goes through the pipeline.

mod config;
mod error;
mod planner;
mod remote;
mod usage;

use orion_domain::CallId;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use config::{Api, ModelConfig, ModelKind, ToolCalls};
pub use error::ModelError;
pub use remote::{Remote, text_prompt};
pub use usage::{NANOS, Price, Prices, Usage};

/// The author of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "each is its own word")]
pub enum Role {
    System,
    User,
    Assistant,
    Tool,
}

/// One message of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// The message's author.
    pub role: Role,
    /// The message's text; for [`Role::Tool`] the result envelope as JSON, possibly cut at a limit.
    pub content: String,
    /// The native calls of an assistant's message.
    #[serde(default)]
    pub tool_calls: Vec<NativeCall>,
    /// For [`Role::Tool`]: the id of the native call with this result. None for a call that was found in
    /// text.
    #[serde(default)]
    pub tool_call_id: Option<String>,
    /// What the provider wants back with the results of the calls. It is kept for the turn only.
    #[serde(skip)]
    pub state: Option<ProviderState>,
    /// The ids of the calls in the store, in the order of `tool_calls`, to find what became of each.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub made: Vec<CallId>,
    /// Whether a client of the API brought the message: the person has not said it, or Orion has no record of it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub relayed: bool,
}

/// What a provider wants back with the results of calls, such as signed reasoning. Nobody else reads it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProviderState {
    /// The form and the model that it is from: another one gets none of it.
    pub origin: String,
    /// The provider's own values, in order.
    pub items: Vec<Value>,
}

impl Message {
    /// Creates the system message.
    #[must_use]
    pub fn system(content: impl Into<String>) -> Self {
        Self::new(Role::System, content)
    }

    /// Creates a person's message.
    #[must_use]
    pub fn user(content: impl Into<String>) -> Self {
        Self::new(Role::User, content)
    }

    /// Creates a message of the model, with its calls.
    #[must_use]
    pub fn assistant(content: impl Into<String>, tool_calls: Vec<NativeCall>) -> Self {
        Self { tool_calls, ..Self::new(Role::Assistant, content) }
    }

    /// Creates the message with the result of the call with that id.
    #[must_use]
    pub fn tool(tool_call_id: impl Into<String>, content: impl Into<String>) -> Self {
        Self { tool_call_id: Some(tool_call_id.into()), ..Self::new(Role::Tool, content) }
    }

    /// Creates a message that a client of the API reports as the assistant's. The model reads that nobody
    /// verified it.
    #[must_use]
    pub fn relayed(content: &str) -> Self {
        let content = format!(
            "(The client of this conversation reports that the assistant answered as follows. Orion has no record of it.)\n{content}"
        );
        Self { relayed: true, ..Self::new(Role::Assistant, content) }
    }

    /// Creates the message with the instructions of a client of the API. They are not the person's words.
    #[must_use]
    pub fn instructions(content: &str) -> Self {
        let content = format!(
            "(The client of this conversation gives these instructions. The person has not said them.)\n{content}"
        );
        Self { relayed: true, ..Self::user(content) }
    }

    fn new(role: Role, content: impl Into<String>) -> Self {
        Self {
            role,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            state: None,
            made: Vec::new(),
            relayed: false,
        }
    }
}

/// A call in the provider's own form. Nothing in it is validated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NativeCall {
    /// The call's id; never empty, and unique within its answer.
    pub id: String,
    /// The tool's name as the model wrote it; empty where it wrote none.
    pub name: String,
    /// The arguments as the model wrote them; should be a JSON object.
    pub arguments: String,
}

/// A tool as a model receives it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolDefinition {
    /// The tool's name.
    pub name: String,
    /// What the tool does, when to use it, when not.
    pub description: String,
    /// JSON Schema of the arguments, `device` and `dry_run` included.
    pub parameters: Value,
}

/// A request to a model.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Request {
    /// The conversation so far, oldest first.
    pub messages: Vec<Message>,
    /// The tools that the model may call.
    pub tools: Vec<ToolDefinition>,
}

/// A model's answer.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Answer {
    /// The answer's text, which may contain calls as text.
    pub text: String,
    /// The answer's calls in the provider's own form.
    pub native_calls: Vec<NativeCall>,
    /// Whether tools were offered in the provider's own form, and the server took them: then text holds no
    /// calls.
    pub offered_natively: bool,
    /// Whether the answer was cut off at the provider's limit, or ended without an end marker.
    pub truncated: bool,
    /// Whether the built-in planner did not understand the message, or asks for something that it lacks.
    pub not_understood: bool,
    /// Whether the provider's filter or the model itself ended the answer.
    pub filtered: bool,
    /// What the answer used, where the provider reports it.
    pub usage: Option<Usage>,
    /// What the provider wants back with the results of the calls.
    pub state: Option<ProviderState>,
}

/// A configured model.
#[derive(Debug)]
pub enum Model {
    /// A model on a server.
    Remote(Box<Remote>),
    /// The built-in planner, which is not a language model.
    Planner,
}

impl Model {
    /// Creates the model of one `[[models]]` section. Reads the key's file or environment variable, and opens
    /// no connection.
    ///
    /// # Errors
    /// [`ModelError::BadConfig`] where the section is not valid.
    pub fn new(config: &ModelConfig) -> Result<Self, ModelError> {
        config.check()?;
        match config.kind {
            ModelKind::Openai | ModelKind::Anthropic | ModelKind::Gemini => {
                Ok(Self::Remote(Box::new(Remote::new(config)?)))
            }
            ModelKind::Planner => Ok(Self::Planner),
        }
    }

    /// Sends a request to the model. `on_text` receives each piece of its text as it arrives.
    ///
    /// # Errors
    /// The model cannot be reached, rejected the request, broke off or exceeded a limit.
    pub async fn complete(
        &self,
        request: &Request,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Answer, ModelError> {
        match self {
            Self::Remote(model) => model.complete(request, on_text).await,
            Self::Planner => {
                let orion_planner::Answer { text, understood } = planner::answer(request);
                on_text(&text);
                Ok(Answer { text, not_understood: !understood, ..Answer::default() })
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
        let mut streamed = String::new();
        let answer = Model::new(&config)
            .unwrap()
            .complete(&request, &mut |text| streamed.push_str(text))
            .await
            .unwrap();
        let text = r#"{"tool":"create_directory","path":"Test"}"#.to_owned();
        assert_eq!(streamed, text);
        assert_eq!(answer, Answer { text, ..Answer::default() });
    }
}
