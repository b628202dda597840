//! Streams and requests of the Responses API.

use serde_json::json;

use crate::model::remote::form::Form;
use crate::model::remote::tests::{read, sent};
use crate::model::{Answer, ModelError, NativeCall, ProviderState, Usage};

fn call(id: &str, path: &str) -> NativeCall {
    NativeCall {
        id: id.to_owned(),
        name: "create_directory".to_owned(),
        arguments: json!({ "path": path }).to_string(),
    }
}

fn events(events: &[serde_json::Value]) -> String {
    events
        .iter()
        .map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap()))
        .collect()
}

#[test]
fn text_reasoning_and_parallel_calls_come_in_pieces() {
    let reasoning =
        json!({"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "sealed"});
    let stream = events(&[
        json!({"type": "response.created", "response": {"id": "r", "status": "in_progress", "output": []}}),
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "reasoning", "id": "rs_1", "summary": []}}),
        json!({"type": "response.reasoning_summary_text.delta", "output_index": 0, "delta": "{\"tool\":\"delete_file\"}"}),
        json!({"type": "response.output_item.done", "output_index": 0, "item": reasoning}),
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "message", "role": "assistant", "content": []}}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "Ik maak "}),
        json!({"type": "response.output_text.delta", "output_index": 1, "delta": "ze 📁"}),
        json!({"type": "response.output_text.done", "output_index": 1, "text": "Ik maak ze 📁"}),
        json!({"type": "response.output_item.done", "output_index": 1, "item": {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Ik maak ze 📁"}]}}),
        json!({"type": "response.output_item.added", "output_index": 2, "item": {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "create_directory", "arguments": ""}}),
        json!({"type": "response.output_item.added", "output_index": 3, "item": {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "create_directory", "arguments": ""}}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "{\"path\":"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 3, "delta": "{\"path\":\"b\"}"}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 2, "delta": "\"a\"}"}),
        json!({"type": "response.function_call_arguments.done", "output_index": 2, "arguments": "{\"path\":\"a\"}"}),
        json!({"type": "response.output_item.done", "output_index": 2, "item": {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "create_directory", "arguments": "{\"path\":\"a\"}"}}),
        json!({"type": "response.output_item.done", "output_index": 3, "item": {"type": "function_call", "id": "fc_2", "call_id": "c2", "name": "create_directory", "arguments": "{\"path\":\"b\"}"}}),
        json!({"type": "response.completed", "response": {"status": "completed", "error": null, "output": [], "usage": {"input_tokens": 50, "input_tokens_details": {"cached_tokens": 40}, "output_tokens": 7}}}),
    ]);
    assert_eq!(
        read(Form::Responses, &stream),
        Ok(Answer {
            text: "Ik maak ze 📁".to_owned(),
            native_calls: vec![call("c1", "a"), call("c2", "b")],
            usage: Some(Usage {
                input_tokens: 50,
                output_tokens: 7,
                cached_tokens: 40,
                estimated: false
            }),
            state: Some(ProviderState { origin: "test".to_owned(), items: vec![reasoning] }),
            ..Answer::default()
        })
    );
}

#[test]
fn a_body_in_one_piece_and_an_answer_at_its_limit_are_answers() {
    let body = json!({"object": "response", "status": "incomplete", "error": null,
    "incomplete_details": {"reason": "max_output_tokens"},
    "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "Hi"}]},
        {"type": "function_call", "call_id": "c", "name": "create_directory", "arguments": "{\"path\":\"a\"}"},
    ]});
    assert_eq!(
        read(Form::Responses, &body.to_string()),
        Ok(Answer {
            text: "Hi".to_owned(),
            native_calls: vec![call("c", "a")],
            truncated: true,
            ..Answer::default()
        })
    );
}

#[test]
fn a_response_that_failed_is_an_error() {
    let failed = |code: &str| {
        events(&[
            json!({"type": "response.failed", "response": {"status": "failed", "output": [], "error": {"code": code, "message": "why"}}}),
        ])
    };
    assert_eq!(
        read(Form::Responses, &failed("rate_limit_exceeded")),
        Err(ModelError::RateLimited { retry_after: None })
    );
    assert_eq!(
        read(Form::Responses, &failed("server_error")),
        Err(ModelError::Refused { status: 200, message: "why".to_owned() })
    );
    let broken = "event: error\ndata: {\"type\":\"error\",\"code\":\"x\",\"message\":\"why\"}\n\n";
    assert!(read(Form::Responses, broken).is_err());
}

#[test]
fn reasoning_goes_back_before_its_calls_and_nothing_is_stored_there() {
    let body =
        sent(Form::Responses, vec![json!({"type": "reasoning", "encrypted_content": "sealed"})]);
    let call = |id: &str, path: &str| json!({"type": "function_call", "call_id": id, "name": "create_directory", "arguments": json!({"path": path}).to_string()});
    assert_eq!(
        body,
        json!({
            "model": "m", "stream": true, "store": false, "max_output_tokens": 100,
            "include": ["reasoning.encrypted_content"],
            "instructions": "Be brief.",
            "input": [
                {"role": "user", "content": "Before"},
                call("call_sent_1", "z"),
                {"type": "function_call_output", "call_id": "call_sent_1", "output": "{}"},
                {"role": "assistant", "content": "Done."},
                {"role": "user", "content": "Make a and b"},
                {"type": "reasoning", "encrypted_content": "sealed"},
                call("x", "a"),
                call("y", "b"),
                {"type": "function_call_output", "call_id": "x", "output": "{\"success\":true}"},
                {"type": "function_call_output", "call_id": "y", "output": "cut off"},
            ],
            "tools": [{"type": "function", "name": "create_directory", "description": "Makes a folder.", "parameters": {"type": "object"}, "strict": false}],
        })
    );
}
