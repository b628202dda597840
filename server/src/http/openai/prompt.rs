//! What a client sends to be answered: the person's message, and the messages before it.

use orion_domain::ConversationId;
use serde_json::{Map, Value};

use super::DEFAULT_MODEL;
use super::error::ApiError;
use crate::chat::Chat;
use crate::model::Message;

/// Maximum number of messages in a request.
const MAX_MESSAGES: usize = 500;
/// Maximum length of the message that is answered, in bytes.
const MAX_MESSAGE_BYTES: usize = 256 * 1024;

/// Why a client reports no calls.
const NO_CALLS: &str = "Orion calls its own tools and records their results and approvals itself, so a client can neither report a call, its result or its approval, nor define tools. Send only messages with text.";

/// What is answered.
#[derive(Debug)]
pub(super) struct Prompt {
    /// None begins a new one.
    pub(super) conversation: Option<ConversationId>,
    /// The messages before the answered one.
    pub(super) context: Vec<Message>,
    pub(super) text: String,
}

/// A message of a client, as it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sent {
    /// Instructions of the client program.
    System(String),
    /// The person's words.
    User(String),
    /// What the client reports as the assistant's.
    Assistant(String),
}

impl Prompt {
    /// Takes the person's last messages as what is answered, and those before it as its context. Of a conversation
    /// that exists, only instructions are taken: Orion has the rest.
    pub(super) fn new(
        mut sent: Vec<Sent>,
        conversation: Option<ConversationId>,
        param: &str,
    ) -> Result<Self, ApiError> {
        if sent.len() > MAX_MESSAGES {
            let message = format!(
                "The request has {} messages, and at most {MAX_MESSAGES} are read. Send the newest ones, or continue a conversation.",
                sent.len()
            );
            return Err(ApiError::invalid(param, message));
        }
        let mut words: Vec<String> = Vec::new();
        while let Some(Sent::User(_)) = sent.last() {
            if let Some(Sent::User(text)) = sent.pop() {
                words.insert(0, text);
            }
        }
        let text = words.join("\n\n");
        if text.trim().is_empty() || text.len() > MAX_MESSAGE_BYTES {
            let message = format!(
                "The last message must be the user's, with 1 to {MAX_MESSAGE_BYTES} bytes of text."
            );
            return Err(ApiError::invalid(param, message));
        }
        let is_new = conversation.is_none();
        let context = sent.into_iter().filter_map(|message| match message {
            Sent::System(text) if !text.trim().is_empty() => Some(Message::instructions(&text)),
            Sent::User(text) if is_new => Some(Message::user(text)),
            Sent::Assistant(text) if is_new => Some(Message::relayed(&text)),
            Sent::System(_) | Sent::User(_) | Sent::Assistant(_) => None,
        });
        Ok(Self { conversation, context: context.collect(), text })
    }
}

/// Reads a message with a role. `None` for one without text.
pub(super) fn message(value: &Value, param: &str) -> Result<Option<Sent>, ApiError> {
    let Some(message) = value.as_object() else {
        return Err(ApiError::invalid(
            param,
            "A message must be an object with `role` and `content`.",
        ));
    };
    for field in ["tool_calls", "function_call"] {
        if message.get(field).is_some_and(|calls| !is_empty(calls)) {
            return Err(ApiError::unsupported(&format!("{param}.{field}"), NO_CALLS));
        }
    }
    let role = message.get("role").and_then(Value::as_str).unwrap_or_default();
    let kind = match role {
        "system" | "developer" => Sent::System,
        "user" => Sent::User,
        "assistant" => Sent::Assistant,
        "tool" | "function" => {
            return Err(ApiError::unsupported(&format!("{param}.role"), NO_CALLS));
        }
        _ => {
            return Err(ApiError::invalid(
                format!("{param}.role"),
                "`role` must be system, developer, user or assistant.",
            ));
        }
    };
    let text =
        content(message.get("content").unwrap_or(&Value::Null), &format!("{param}.content"))?;
    Ok((!text.is_empty()).then(|| kind(text)))
}

/// Reads the text of a message: a text, or parts that are texts.
pub(super) fn content(value: &Value, param: &str) -> Result<String, ApiError> {
    let parts = match value {
        Value::Null => return Ok(String::new()),
        Value::String(text) => return Ok(text.clone()),
        Value::Array(parts) => parts,
        Value::Bool(_) | Value::Number(_) | Value::Object(_) => {
            return Err(ApiError::invalid(
                param,
                "The content must be a text, or a list of texts.",
            ));
        }
    };
    let mut texts = Vec::with_capacity(parts.len());
    for (n, part) in parts.iter().enumerate() {
        let kind = part["type"].as_str().unwrap_or_default();
        let text = match kind {
            "text" | "input_text" | "output_text" => part["text"].as_str(),
            "refusal" => part["refusal"].as_str(),
            _ => None,
        };
        let Some(text) = text else {
            let message = "Only text is read: no images, sound or files. Copy a file to a device with `orion cp` and name its path.";
            return Err(ApiError::unsupported(&format!("{param}[{n}]"), message));
        };
        texts.push(text);
    }
    Ok(texts.join("\n"))
}

/// Refuses parameters whose meaning Orion would not keep.
pub(super) fn refuse(parameters: &Map<String, Value>) -> Result<(), ApiError> {
    for name in ["tools", "functions"] {
        if parameters.get(name).is_some_and(|it| !is_empty(it)) {
            return Err(ApiError::unsupported(name, NO_CALLS));
        }
    }
    if parameters.get("n").is_some_and(|n| !n.is_null() && n.as_u64() != Some(1)) {
        return Err(ApiError::unsupported(
            "n",
            "One answer is given to a request, for its calls run once.",
        ));
    }
    for name in ["audio", "logprobs", "top_logprobs", "background", "prompt"] {
        if parameters.get(name).is_some_and(|it| !is_empty(it)) {
            return Err(ApiError::unsupported(
                name,
                "Orion does not support this parameter. Leave it out.",
            ));
        }
    }
    let format =
        parameters.get("response_format").or_else(|| parameters.get("text")?.get("format"));
    let kind = format.and_then(|it| it.get("type")).and_then(Value::as_str).unwrap_or("text");
    if kind != "text" {
        let message = "Answers are text: Orion does not promise a format. Leave this out.";
        return Err(ApiError::unsupported("response_format", message));
    }
    Ok(())
}

/// Returns the name by which a model is chosen; empty for the default.
pub(super) fn model_name<'a>(chat: &Chat, asked: Option<&'a str>) -> &'a str {
    let asked = asked.unwrap_or_default();
    let is_configured = chat.models.iter().any(|(name, _)| name == asked);
    if asked == DEFAULT_MODEL && !is_configured { "" } else { asked }
}

/// Reads the id of a conversation: from the parameter `conversation`, or from the metadata.
pub(super) fn conversation(
    parameters: &Map<String, Value>,
) -> Result<Option<ConversationId>, ApiError> {
    let named = |param: &str, value: Option<&Value>| {
        let Some(value) = value.filter(|it| !it.is_null()) else { return Ok(None) };
        let id = value.as_str().or_else(|| value.get("id")?.as_str());
        let id = id.and_then(|it| it.parse().ok());
        let message = "This is not the id of a conversation. Answers name theirs in `metadata.conversation`; `orion chats list` lists them.";
        id.map(Some).ok_or_else(|| ApiError::invalid(param, message))
    };
    let in_metadata = parameters.get("metadata").and_then(|it| it.get("conversation"));
    let of_metadata = named("metadata.conversation", in_metadata)?;
    Ok(named("conversation", parameters.get("conversation"))?.or(of_metadata))
}

/// Returns whether a parameter asks for nothing.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Bool(true) => false,
        Value::Number(number) => number.as_u64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(object) => object.is_empty(),
    }
}

#[cfg(test)]
mod tests;
