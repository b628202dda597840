//! Converts a conversation to the form of Chat Completions.

use serde_json::{Value, json};

use crate::model::remote::conversation::{Call, Conversation, Turn};
use crate::model::remote::form::Wishes;

/// Returns the body of a request.
pub(in crate::model::remote) fn body(conversation: &Conversation<'_>, wishes: Wishes<'_>) -> Value {
    let mut messages = Vec::new();
    if !conversation.system.is_empty() {
        messages.push(json!({"role": "system", "content": conversation.system}));
    }
    messages.extend(conversation.turns.iter().map(|turn| match turn {
        Turn::User(text) => json!({"role": "user", "content": text}),
        Turn::Model { text, calls, .. } if calls.is_empty() => {
            json!({"role": "assistant", "content": text})
        }
        Turn::Model { text, calls, .. } => {
            let content = if text.is_empty() { Value::Null } else { json!(text) };
            let calls: Vec<Value> = calls.iter().map(call).collect();
            json!({"role": "assistant", "content": content, "tool_calls": calls})
        }
        Turn::Result { id, content, .. } => {
            json!({"role": "tool", "tool_call_id": id, "content": content})
        }
    }));
    let mut body = json!({"model": wishes.model, "messages": messages, "stream": true});
    if let Some(most) = wishes.max_output_tokens {
        body["max_tokens"] = most.into();
    }
    if wishes.extras {
        body["stream_options"] = json!({"include_usage": true});
    }
    if !conversation.tools.is_empty() {
        let tool = |tool: &crate::model::ToolDefinition| {
            json!({"type": "function", "function": {
                "name": tool.name,
                "description": tool.description,
                "parameters": tool.parameters,
            }})
        };
        body["tools"] = conversation.tools.iter().map(tool).collect();
    }
    body
}

fn call(call: &Call<'_>) -> Value {
    let function = json!({"name": call.name, "arguments": call.arguments});
    json!({"id": call.id, "type": "function", "function": function})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::remote::text_prompt;
    use crate::model::{Message, NativeCall, Request, ToolDefinition};

    const PLAIN: Wishes<'_> = Wishes { model: "m", max_output_tokens: None, extras: false };

    fn native(request: &Request) -> Value {
        body(&Conversation::native(request, "m"), PLAIN)
    }

    fn text(request: &Request) -> Value {
        body(&Conversation::text(request), PLAIN)
    }

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
            native(&conversation()),
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
            text(&request),
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
        let plain =
            json!({"model": "m", "stream": true, "messages": [{"role": "user", "content": "Hi"}]});
        assert_eq!(native(&request), plain);
        assert_eq!(text(&request), plain);
    }
}
