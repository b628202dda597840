//! Streams that are wrong.

use std::time::Duration;

use orion_tests::{Reply, Then};
use serde_json::json;

use super::{Case, END, End, case, delta, event, part, sends, text};

pub(super) fn cases() -> Vec<Case> {
    let words = delta(json!({"content": "Hallo "}));
    let half_call =
        delta(json!({"tool_calls": [part(Some(0), Some("c"), "delete_file", "{\"path\":\"kept")]}));
    let bytes = text("Één 📁 map").into_bytes();
    let split = Reply {
        pieces: std::iter::once(orion_tests::STREAM.as_bytes().to_vec())
            .chain(bytes.chunks(1).map(<[u8]>::to_vec))
            .collect(),
        ..Reply::default()
    };
    let endless = Reply {
        pieces: vec![
            orion_tests::STREAM.as_bytes().to_vec(),
            delta(json!({"content": "x".repeat(10_000)})).into_bytes(),
        ],
        then: Then::Repeats,
        ..Reply::default()
    };
    let drip = Reply {
        pieces: std::iter::once(orion_tests::STREAM.as_bytes().to_vec())
            .chain((0..200).map(|_| b":".to_vec()))
            .collect(),
        pause: Duration::from_millis(100),
        ..Reply::default()
    };
    let mut broken_letters = text("a?b").into_bytes();
    for byte in &mut broken_letters {
        if *byte == b'?' {
            *byte = 0xff;
        }
    }
    vec![
        sends("never_ends", vec![endless], End::Error("larger than 1048576 bytes")),
        sends("slow_drip", vec![drip], End::Error("within 3 s")),
        sends("splits_letters", vec![split], End::Text("Één 📁 map")),
        case(
            "breaks_in_an_event",
            words.clone() + "data: {\"choices\":[{\"del",
            End::Error("broke off"),
        ),
        case("breaks_in_a_call", half_call.clone(), End::Error("in the middle of a tool call")),
        case(
            "error_after_words",
            words.clone() + &event(&json!({"error": {"message": "gpu on fire"}})),
            End::Error("gpu on fire"),
        ),
        case(
            "error_after_a_call",
            half_call + &event(&json!({"error": "out of memory"})),
            End::Error("out of memory"),
        ),
        case("no_end_marker", words, End::Note("cut off at its limit", 0)),
        case("choices_is_text", event(&json!({"choices": "none"})) + END, End::Text("")),
        case(
            "content_is_a_number",
            delta(json!({"content": 7, "tool_calls": 7, "function_call": 7})) + END,
            End::Text(""),
        ),
        case(
            "one_line_of_megabytes",
            format!("data: {}", "x".repeat(4_000_000)),
            End::Error("larger than"),
        ),
        case(
            "nested_without_end",
            format!("data: {}\n\n", "[".repeat(100_000)),
            End::Error("broke off"),
        ),
        case("letters_that_are_none", broken_letters, End::Text("a\u{fffd}b")),
        case(
            "ansi_and_nul",
            text("a\u{1b}[2J\u{0}\u{202e}b"),
            End::Text("a\u{1b}[2J\u{0}\u{202e}b"),
        ),
        case("an_empty_stream", "", End::Error("broke off")),
    ]
}
