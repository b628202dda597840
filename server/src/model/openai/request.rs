//! Converts a conversation to the wire form, with native tools or without.

use serde_json::{Value, json};

use super::text_prompt;
use crate::model::{Message, NativeCall, Request, Role};

/// Returns the body of a request with native tools.
pub(super) fn native(model: &str, request: &Request) -> Value {
    let mut open: Vec<&NativeCall> = Vec::new();
    let mut messages = Vec::new();
    for message in &request.messages {
        match message.role {
            Role::System => messages.push(json!({"role": "system", "content": message.content})),
            Role::User => messages.push(json!({"role": "user", "content": message.content})),
            Role::Assistant => {
                open = message.tool_calls.iter().collect();
                messages.push(assistant(message));
            }
            Role::Tool => {
                let found = open
                    .iter()
                    .position(|call| message.tool_call_id.as_deref() == Some(call.id.as_str()));
                messages.push(match found {
                    Some(at) => {
                        let call = open.swap_remove(at);
                        json!({"role": "tool", "tool_call_id": call.id, "content": message.content})
                    }
                    // The call was found in text: a provider rejects results of calls that it does not know.
                    None => json!({"role": "user", "content": result(&[], message)}),
                });
            }
        }
    }
    let mut body = json!({"model": model, "messages": messages, "stream": true});
    if !request.tools.is_empty() {
        body["tools"] = request
            .tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                }})
            })
            .collect();
    }
    body
}

fn assistant(message: &Message) -> Value {
    if message.tool_calls.is_empty() {
        return json!({"role": "assistant", "content": message.content});
    }
    let calls: Vec<Value> = message
        .tool_calls
        .iter()
        .map(|call| {
            // Some servers parse the arguments of earlier calls, and fail where they are not an object.
            let valid = serde_json::from_str::<serde_json::Map<String, Value>>(&call.arguments);
            let arguments = if valid.is_ok() { call.arguments.as_str() } else { "{}" };
            json!({"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}})
        })
        .collect();
    let content = if message.content.is_empty() { Value::Null } else { json!(message.content) };
    json!({"role": "assistant", "content": content, "tool_calls": calls})
}

/// Returns the body of a request with the tools in the prompt, and calls and results as text.
pub(super) fn text(model: &str, request: &Request) -> Value {
    let mut system = Vec::new();
    let mut turns: Vec<(&str, String)> = Vec::new();
    let mut calls: &[NativeCall] = &[];
    for message in &request.messages {
        let (role, content) = match message.role {
            Role::System => {
                system.push(message.content.clone());
                continue;
            }
            Role::User => ("user", message.content.clone()),
            Role::Assistant => {
                calls = &message.tool_calls;
                ("assistant", with_calls(message))
            }
            Role::Tool => ("user", result(calls, message)),
        };
        match turns.last_mut() {
            // Many of these models require the two sides to alternate.
            Some((last, words)) if *last == role => {
                words.push_str("\n\n");
                words.push_str(&content);
            }
            _ => turns.push((role, content)),
        }
    }
    if !request.tools.is_empty() {
        system.push(text_prompt(&request.tools));
    }
    let mut messages = Vec::new();
    if !system.is_empty() {
        messages.push(json!({"role": "system", "content": system.join("\n\n")}));
    }
    messages
        .extend(turns.into_iter().map(|(role, content)| json!({"role": role, "content": content})));
    json!({"model": model, "messages": messages, "stream": true})
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolDefinition;

    fn conversation() -> Request {
        let call = |id: &str, arguments: &str| NativeCall {
            id: id.to_owned(),
            name: "read_file".to_owned(),
            arguments: arguments.to_owned(),
        };
        Request {
            messages: vec![
                Message::system("Be brief."),
                Message::user("Read a and b"),
                Message::assistant("", vec![call("x", r#"{"path":"a"}"#), call("y", "{oops")]),
                Message::tool("x", r#"{"success":true}"#),
                Message::tool("y", r#"{"success":false}"#),
                Message::assistant(r#"{"tool":"get_datetime"}"#, Vec::new()),
                Message::tool("z", r#"{"success":true,"meta":{"tool":"get_datetime"}}"#),
            ],
            tools: vec![ToolDefinition {
                name: "read_file".to_owned(),
                description: "Reads a file.".to_owned(),
                parameters: json!({"type": "object", "properties": {"path": {"type": "string"}}}),
            }],
        }
    }

    #[test]
    fn native_calls_and_their_results_stay_native() {
        assert_eq!(
            native("m", &conversation()),
            json!({"model": "m", "stream": true,
                "messages": [
                    {"role": "system", "content": "Be brief."},
                    {"role": "user", "content": "Read a and b"},
                    {"role": "assistant", "content": null, "tool_calls": [
                        {"id": "x", "type": "function", "function": {"name": "read_file", "arguments": "{\"path\":\"a\"}"}},
                        {"id": "y", "type": "function", "function": {"name": "read_file", "arguments": "{}"}},
                    ]},
                    {"role": "tool", "tool_call_id": "x", "content": "{\"success\":true}"},
                    {"role": "tool", "tool_call_id": "y", "content": "{\"success\":false}"},
                    {"role": "assistant", "content": "{\"tool\":\"get_datetime\"}"},
                    {"role": "user", "content": "Result of get_datetime: {\"success\":true,\"meta\":{\"tool\":\"get_datetime\"}}"},
                ],
                "tools": [{"type": "function", "function": {
                    "name": "read_file",
                    "description": "Reads a file.",
                    "parameters": {"type": "object", "properties": {"path": {"type": "string"}}},
                }}],
            })
        );
    }

    #[test]
    fn as_text_everything_is_words_and_the_sides_take_turns() {
        let request = conversation();
        let system = format!("Be brief.\n\n{}", text_prompt(&request.tools));
        assert_eq!(
            text("m", &request),
            json!({"model": "m", "stream": true, "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": "Read a and b"},
                {"role": "assistant", "content": "{\"parameters\":{\"path\":\"a\"},\"tool\":\"read_file\"}\n{\"parameters\":{},\"tool\":\"read_file\"}"},
                {"role": "user", "content": "Result of read_file: {\"success\":true}\n\nResult of read_file: {\"success\":false}"},
                {"role": "assistant", "content": "{\"tool\":\"get_datetime\"}"},
                {"role": "user", "content": "Result of get_datetime: {\"success\":true,\"meta\":{\"tool\":\"get_datetime\"}}"},
            ]})
        );
    }

    #[test]
    fn without_tools_nothing_is_said_of_tools() {
        let request = Request { messages: vec![Message::user("Hi")], tools: Vec::new() };
        let body =
            json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]});
        assert_eq!(native("m", &request), body);
        assert_eq!(text("m", &request), body);
    }
}
