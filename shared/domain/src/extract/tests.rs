//! The shapes in which real models write calls, attacks on their extraction, and laws.

mod cases;
mod context;
mod laws;
mod places;
mod problems;
mod shapes;

use serde_json::{Value, json};

use super::{ExtractedCall, Extraction, extract};

/// The envelope's own example.
const CALL: &str =
    r#"{"tool":"create_directory","device":"laptop-123","path":"C:/Users/ann/Test"}"#;

/// The call of [`CALL`].
fn call() -> ExtractedCall {
    made("create_directory", Some("laptop-123"), json!({"path": "C:/Users/ann/Test"}))
}

fn made(tool: &str, device: Option<&str>, arguments: Value) -> ExtractedCall {
    ExtractedCall {
        tool: tool.to_owned(),
        device: device.map(str::to_owned),
        dry_run: false,
        queue: None,
        arguments: arguments.as_object().unwrap().clone(),
        untyped: false,
        recovered: false,
        id: None,
    }
}

fn recovered(call: ExtractedCall) -> ExtractedCall {
    ExtractedCall { recovered: true, ..call }
}

fn with_id(id: &str, call: ExtractedCall) -> ExtractedCall {
    ExtractedCall { id: Some(id.to_owned()), ..call }
}

fn only(calls: Vec<ExtractedCall>) -> Extraction {
    Extraction { calls, ..Extraction::default() }
}

fn prose(output: &str) -> Extraction {
    Extraction { text: output.trim().to_owned(), ..Extraction::default() }
}

#[test]
fn the_example_in_prose_is_found_and_serialised() {
    let found = extract(&format!("Sure! {CALL} done"));
    assert_eq!(
        serde_json::to_value(&found).unwrap(),
        json!({
            "calls": [{"tool": "create_directory", "device": "laptop-123",
                       "arguments": {"path": "C:/Users/ann/Test"}, "recovered": true}],
            "text": "Sure! done",
            "problems": [],
        })
    );
    assert_eq!(found.calls[0].flat(), serde_json::from_str::<Value>(CALL).unwrap());
}
