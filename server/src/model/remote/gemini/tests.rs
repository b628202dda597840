//! Streams and requests of Gemini.

use serde_json::{Value, json};

use crate::model::remote::form::Form;
use crate::model::remote::tests::{read, sent};
use crate::model::{Answer, ModelError, NativeCall, ProviderState, Usage};

fn call(id: &str) -> NativeCall {
    NativeCall {
        id: id.to_owned(),
        name: "create_directory".to_owned(),
        arguments: r#"{"path":"a"}"#.to_owned(),
    }
}

fn events(events: &[Value]) -> String {
    events.iter().map(|event| format!("data: {event}\r\n\r\n")).collect()
}

fn parts(parts: Value) -> Value {
    json!({"candidates": [{"content": {"role": "model", "parts": parts}}]})
}

#[test]
fn text_thoughts_and_whole_calls_come_in_parts() {
    let made = json!({"name": "create_directory", "args": {"path": "a"}});
    let stream = events(&[
        parts(json!([{"thought": true, "text": "{\"tool\":\"delete_file\"}"}])),
        parts(json!([{"text": "Één "}])),
        parts(
            json!([{"text": "map"}, {"functionCall": made, "thoughtSignature": "c2ln"}, {"functionCall": made}]),
        ),
        json!({
            "candidates": [{"content": {"parts": [{"text": ""}]}, "finishReason": "STOP"}],
            "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 5, "thoughtsTokenCount": 3, "cachedContentTokenCount": 8},
        }),
    ]);
    let signed = json!({"call": 0, "thoughtSignature": "c2ln"});
    assert_eq!(
        read(Form::Gemini, &stream),
        Ok(Answer {
            text: "Één map".to_owned(),
            native_calls: vec![call("call_1"), call("call_2")],
            usage: Some(Usage {
                input_tokens: 20,
                output_tokens: 8,
                cached_tokens: 8,
                estimated: false
            }),
            state: Some(ProviderState { origin: "test".to_owned(), items: vec![signed] }),
            ..Answer::default()
        })
    );
}

#[test]
fn what_the_provider_stops_is_said() {
    let blocked = events(&[json!({"promptFeedback": {"blockReason": "SAFETY"}})]);
    assert_eq!(read(Form::Gemini, &blocked), Ok(Answer { filtered: true, ..Answer::default() }));
    let cut = events(&[
        json!({"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "MAX_TOKENS"}]}),
    ]);
    assert_eq!(
        read(Form::Gemini, &cut),
        Ok(Answer { text: "Hi".to_owned(), truncated: true, ..Answer::default() })
    );
    let error = r#"[{"error": {"code": 503, "status": "UNAVAILABLE", "message": "busy"}}]"#;
    assert_eq!(read(Form::Gemini, error), Err(ModelError::Overloaded { retry_after: None }));
}

#[test]
fn both_sides_take_turns_and_signatures_go_back_with_their_calls() {
    let made = |id: &str, path: &str| json!({"id": id, "name": "create_directory", "args": {"path": path}});
    let result = |id: &str, response: Value| json!({"functionResponse": {"id": id, "name": "create_directory", "response": response}});
    let body = sent(Form::Gemini, vec![json!({"call": 0, "thoughtSignature": "c2ln"})]);
    assert_eq!(
        body,
        json!({
            "systemInstruction": {"parts": [{"text": "Be brief."}]},
            "generationConfig": {"maxOutputTokens": 100},
            "contents": [
                {"role": "user", "parts": [{"text": "Before"}]},
                {"role": "model", "parts": [{"functionCall": made("call_sent_1", "z")}]},
                {"role": "user", "parts": [result("call_sent_1", json!({}))]},
                {"role": "model", "parts": [{"text": "Done."}]},
                {"role": "user", "parts": [{"text": "Make a and b"}]},
                {"role": "model", "parts": [
                    {"functionCall": made("x", "a"), "thoughtSignature": "c2ln"},
                    {"functionCall": made("y", "b")},
                ]},
                {"role": "user", "parts": [
                    result("x", json!({"success": true})),
                    result("y", json!({"output": "cut off"})),
                ]},
            ],
            "tools": [{"functionDeclarations": [{"name": "create_directory", "description": "Makes a folder.", "parametersJsonSchema": {"type": "object"}}]}],
        })
    );
}
