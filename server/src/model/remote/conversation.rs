//! A conversation as every provider takes it: each call has one result, in the message after it, and the names
//! and ids are ones that providers accept. With tools in the prompt, calls and results are text instead.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value, json};

use super::text_prompt;
use crate::model::{Message, NativeCall, ProviderState, Request, Role, ToolDefinition};

/// The longest name and id that all providers take, in bytes.
const MAX_NAME_BYTES: usize = 64;

/// A conversation to send.
#[derive(Debug)]
pub(super) struct Conversation<'a> {
    /// The instructions; empty where there are none.
    pub(super) system: String,
    /// What was said, oldest first.
    pub(super) turns: Vec<Turn<'a>>,
    /// The tools in native form; empty where they are described in the instructions.
    pub(super) tools: &'a [ToolDefinition],
}

/// One thing said.
#[derive(Debug)]
pub(super) enum Turn<'a> {
    /// By the person.
    User(Cow<'a, str>),
    /// By the model.
    Model {
        /// Its text.
        text: Cow<'a, str>,
        /// Its calls.
        calls: Vec<Call<'a>>,
        /// What its provider wants back, where this is that provider's turn and it is not over.
        state: Option<&'a ProviderState>,
        /// Whether the turn of the conversation that it belongs to is still open.
        is_open: bool,
    },
    /// The result of a call.
    Result {
        /// The id of the call.
        id: String,
        /// The name of its tool.
        name: String,
        /// The result.
        content: &'a str,
    },
}

/// A call that was made.
#[derive(Debug)]
pub(super) struct Call<'a> {
    pub(super) id: String,
    pub(super) name: String,
    /// A JSON object.
    pub(super) arguments: Cow<'a, str>,
    /// The id that the provider gave, to find what it wants back for this call.
    pub(super) given_id: &'a str,
}

impl Call<'_> {
    /// Returns the arguments as a value.
    pub(super) fn arguments_value(&self) -> Value {
        serde_json::from_str(&self.arguments).unwrap_or_else(|_| json!({}))
    }
}

impl<'a> Conversation<'a> {
    /// Returns the conversation with native tools, for the model that is known as `origin`. What another model
    /// wants back is left out.
    pub(super) fn native(request: &'a Request, origin: &str) -> Self {
        let last_user = request.messages.iter().rposition(|it| it.role == Role::User);
        let mut system: Vec<&str> = Vec::new();
        let mut turns = Vec::new();
        // The ids and names of calls without a result, by the id that the provider gave.
        let mut open: HashMap<&str, (String, String)> = HashMap::new();
        let mut number = 0;
        for (at, message) in request.messages.iter().enumerate() {
            match message.role {
                Role::System => system.push(&message.content),
                Role::User => turns.push(Turn::User(message.content.as_str().into())),
                Role::Assistant => {
                    let calls: Vec<_> = message
                        .tool_calls
                        .iter()
                        .map(|call| {
                            number += 1;
                            sent(call, number, &message.tool_calls)
                        })
                        .collect();
                    let names =
                        calls.iter().map(|it| (it.given_id, (it.id.clone(), it.name.clone())));
                    open = names.collect();
                    let is_open = last_user.is_none_or(|user| at > user);
                    let state = message.state.as_ref().filter(|it| is_open && it.origin == origin);
                    let text = message.content.as_str().into();
                    turns.push(Turn::Model { text, calls, state, is_open });
                }
                Role::Tool => {
                    let id = message.tool_call_id.as_deref().unwrap_or_default();
                    turns.push(match open.remove(id) {
                        Some((id, name)) => Turn::Result { id, name, content: &message.content },
                        // The call was found in text: a provider rejects results of calls that it does not
                        // know.
                        None => Turn::User(result(&[], message).into()),
                    });
                }
            }
        }
        Self { system: system.join("\n\n"), turns, tools: &request.tools }
    }

    /// Returns the conversation with the tools in the prompt, and calls and results as text.
    pub(super) fn text(request: &'a Request) -> Self {
        let mut system: Vec<String> = Vec::new();
        let mut said: Vec<(bool, String)> = Vec::new();
        let mut calls: &[NativeCall] = &[];
        for message in &request.messages {
            let (is_model, content) = match message.role {
                Role::System => {
                    system.push(message.content.clone());
                    continue;
                }
                Role::User => (false, message.content.clone()),
                Role::Assistant => {
                    calls = &message.tool_calls;
                    (true, with_calls(message))
                }
                Role::Tool => (false, result(calls, message)),
            };
            match said.last_mut() {
                // Many of these models require the two sides to alternate.
                Some((last, words)) if *last == is_model => {
                    words.push_str("\n\n");
                    words.push_str(&content);
                }
                _ => said.push((is_model, content)),
            }
        }
        if !request.tools.is_empty() {
            system.push(text_prompt(&request.tools));
        }
        let turn = |(is_model, content): (bool, String)| {
            let text = Cow::Owned(content);
            match is_model {
                true => Turn::Model { text, calls: Vec::new(), state: None, is_open: false },
                false => Turn::User(text),
            }
        };
        let turns = said.into_iter().map(turn).collect();
        Self { system: system.join("\n\n"), turns, tools: &[] }
    }
}

/// Returns a call as providers accept it. Some parse the arguments of earlier calls, and fail where they are
/// not an object.
fn sent<'a>(call: &'a NativeCall, number: usize, beside: &[NativeCall]) -> Call<'a> {
    let valid = serde_json::from_str::<Map<String, Value>>(&call.arguments).is_ok();
    let is_plain = |text: &str| {
        (1..=MAX_NAME_BYTES).contains(&text.len())
            && text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    let is_taken = |id: &String| beside.iter().any(|it| it.id == *id);
    let id = if is_plain(&call.id) {
        call.id.clone()
    } else {
        let others = (1..=beside.len()).map(|more| format!("call_sent_{number}_{more}"));
        let mut free = std::iter::once(format!("call_sent_{number}")).chain(others);
        free.find(|id| !is_taken(id)).unwrap_or_default()
    };
    let name = if is_plain(&call.name) {
        call.name.clone()
    } else {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        let name: String = call.name.chars().take(MAX_NAME_BYTES).map(plain).collect();
        if name.is_empty() { "unknown".to_owned() } else { name }
    };
    let arguments = if valid { call.arguments.as_str() } else { "{}" };
    Call { id, name, arguments: arguments.into(), given_id: &call.id }
}

fn with_calls(message: &Message) -> String {
    let mut lines = Vec::new();
    if !message.content.is_empty() {
        lines.push(message.content.clone());
    }
    for call in &message.tool_calls {
        let arguments =
            serde_json::from_str::<Value>(&call.arguments).unwrap_or_else(|_| json!({}));
        lines.push(json!({"tool": call.name, "parameters": arguments}).to_string());
    }
    lines.join("\n")
}

fn result(calls: &[NativeCall], message: &Message) -> String {
    let named = calls
        .iter()
        .find(|call| message.tool_call_id.as_deref() == Some(call.id.as_str()))
        .map(|call| call.name.clone());
    let tool = named.or_else(|| {
        let envelope: Value = serde_json::from_str(&message.content).ok()?;
        envelope.pointer("/meta/tool")?.as_str().map(str::to_owned)
    });
    let tool = tool.filter(|name| !name.is_empty()).unwrap_or_else(|| "the call".to_owned());
    format!("Result of {tool}: {}", message.content)
}
