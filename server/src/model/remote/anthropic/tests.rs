//! Streams and requests of the Messages API.

use serde_json::{Value, json};

use crate::model::remote::form::Form;
use crate::model::remote::tests::{read, sent};
use crate::model::{Answer, ModelError, NativeCall, ProviderState, Usage};

fn call(id: &str, arguments: &str) -> NativeCall {
    NativeCall {
        id: id.to_owned(),
        name: "create_directory".to_owned(),
        arguments: arguments.to_owned(),
    }
}

fn events(events: &[Value]) -> String {
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect()
}

fn delta(index: u64, delta: Value) -> Value {
    json!({"type": "content_block_delta", "index": index, "delta": delta})
}

fn start(index: u64, block: Value) -> Value {
    json!({"type": "content_block_start", "index": index, "content_block": block})
}

#[test]
fn text_thinking_and_parallel_calls_come_in_blocks() {
    let stream = events(&[
        json!({"type": "message_start", "message": {"role": "assistant", "content": [], "usage": {"input_tokens": 10, "cache_read_input_tokens": 30, "cache_creation_input_tokens": 5, "output_tokens": 1}}}),
        start(0, json!({"type": "thinking", "thinking": "", "signature": ""})),
        json!({"type": "ping"}),
        delta(0, json!({"type": "thinking_delta", "thinking": "{\"tool\":\"delete"})),
        delta(0, json!({"type": "thinking_delta", "thinking": "_file\"}"})),
        delta(0, json!({"type": "signature_delta", "signature": "EqQB"})),
        json!({"type": "content_block_stop", "index": 0}),
        start(1, json!({"type": "text", "text": ""})),
        delta(1, json!({"type": "text_delta", "text": "Één "})),
        delta(1, json!({"type": "text_delta", "text": "map"})),
        start(
            2,
            json!({"type": "tool_use", "id": "toolu_1", "name": "create_directory", "input": {}}),
        ),
        delta(2, json!({"type": "input_json_delta", "partial_json": ""})),
        delta(2, json!({"type": "input_json_delta", "partial_json": "{\"path\": \"a"})),
        delta(2, json!({"type": "input_json_delta", "partial_json": "\"}"})),
        start(
            3,
            json!({"type": "tool_use", "id": "toolu_2", "name": "create_directory", "input": {}}),
        ),
        delta(3, json!({"type": "input_json_delta", "partial_json": "{\"path\": \"a\"}"})),
        json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 21}}),
        json!({"type": "message_stop"}),
    ]);
    let thinking =
        json!({"type": "thinking", "thinking": "{\"tool\":\"delete_file\"}", "signature": "EqQB"});
    assert_eq!(
        read(Form::Anthropic, &stream),
        Ok(Answer {
            text: "Één map".to_owned(),
            native_calls: vec![
                call("toolu_1", r#"{"path": "a"}"#),
                call("toolu_2", r#"{"path": "a"}"#)
            ],
            usage: Some(Usage {
                input_tokens: 45,
                output_tokens: 21,
                cached_tokens: 30,
                estimated: false
            }),
            state: Some(ProviderState { origin: "test".to_owned(), items: vec![thinking] }),
            ..Answer::default()
        })
    );
}

#[test]
fn a_body_in_one_piece_a_limit_and_a_refusal_are_answers() {
    let body = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"Hi"},{"type":"tool_use","id":"t","name":"create_directory","input":{"path":"a","path":"b"}}],"stop_reason":"max_tokens","usage":{"input_tokens":3,"output_tokens":2}}"#;
    let usage = Some(Usage { input_tokens: 3, output_tokens: 2, ..Usage::default() });
    assert_eq!(
        read(Form::Anthropic, body),
        Ok(Answer {
            text: "Hi".to_owned(),
            // A name that stands twice stays there to be refused.
            native_calls: vec![call("t", r#"{"path":"a","path":"b"}"#)],
            truncated: true,
            usage,
            ..Answer::default()
        })
    );
    let refused = events(&[
        json!({"type": "message_start", "message": {"content": []}}),
        json!({"type": "message_delta", "delta": {"stop_reason": "refusal"}}),
        json!({"type": "message_stop"}),
    ]);
    assert_eq!(read(Form::Anthropic, &refused), Ok(Answer { filtered: true, ..Answer::default() }));
}

#[test]
fn an_error_is_one_of_the_known_ones_and_half_a_call_is_none() {
    let error =
        |kind: &str| events(&[json!({"type": "error", "error": {"type": kind, "message": "why"}})]);
    let busy = ModelError::Overloaded { retry_after: None };
    assert_eq!(read(Form::Anthropic, &error("overloaded_error")), Err(busy));
    let half = events(&[
        start(0, json!({"type": "tool_use", "id": "t", "name": "create_directory", "input": {}})),
        delta(0, json!({"type": "input_json_delta", "partial_json": "{\"pa"})),
    ]);
    assert!(matches!(read(Form::Anthropic, &half), Err(ModelError::BrokenStream { .. })));
    let late = format!("{half}{}", error("overloaded_error"));
    assert_eq!(
        read(Form::Anthropic, &late),
        Err(ModelError::BrokenStream { reason: "why".to_owned() })
    );
}

#[test]
fn both_sides_take_turns_and_thinking_goes_back_with_its_signature() {
    let thinking = json!({"type": "thinking", "thinking": "hm", "signature": "s"});
    let body = sent(Form::Anthropic, vec![thinking.clone()]);
    let used = |id: &str, path: &str| json!({"type": "tool_use", "id": id, "name": "create_directory", "input": {"path": path}});
    let result = |id: &str, content: &str| json!({"type": "tool_result", "tool_use_id": id, "content": content});
    let text = |text: &str| json!({"type": "text", "text": text});
    assert_eq!(
        body,
        json!({
            "model": "m", "stream": true, "max_tokens": 100,
            "system": [{"type": "text", "text": "Be brief.", "cache_control": {"type": "ephemeral"}}],
            "messages": [
                {"role": "user", "content": [text("Before")]},
                {"role": "assistant", "content": [used("call_sent_1", "z")]},
                {"role": "user", "content": [result("call_sent_1", "{}")]},
                {"role": "assistant", "content": [text("Done.")]},
                {"role": "user", "content": [text("Make a and b")]},
                {"role": "assistant", "content": [thinking, used("x", "a"), used("y", "b")]},
                {"role": "user", "content": [result("x", r#"{"success":true}"#), result("y", "cut off")]},
            ],
            "tools": [{"name": "create_directory", "description": "Makes a folder.", "input_schema": {"type": "object"}}],
        })
    );
}
