//! Laws of the extractor: a bounded result for every text, and every written call is read back.

use crate::extract::{
    ExtractedCall, MAX_CALLS, MAX_OUTPUT_BYTES, MAX_PROBLEMS, Released, examined, extract,
    from_native,
};

/// The maximum reads of one byte, and of what begins as a call in a short text.
const LOOKS_PER_BYTE: usize = 32;
const LOOKS: usize = 1024;

/// The maximum length of one problem's message, in bytes.
const MAX_MESSAGE_BYTES: usize = 2048;

/// Checks one model output against every law. Invalid UTF-8 becomes replacement characters.
///
/// # Panics
/// A law is violated.
pub fn extractor(input: &[u8]) {
    let output = String::from_utf8_lossy(input);
    let found = extract(&output);
    assert_eq!(extract(&output), found, "the same text was read in two ways");
    assert!(found.calls.len() <= MAX_CALLS && found.problems.len() <= MAX_PROBLEMS);
    // Except for replacements, the prose is cut out of the text.
    assert!(found.text.len() <= output.len(), "{:?}", found.text);
    for problem in &found.problems {
        assert!(problem.to_string().len() <= MAX_MESSAGE_BYTES, "{problem:?}");
    }
    if output.len() > MAX_OUTPUT_BYTES {
        assert!(found.calls.is_empty() && found.text.is_empty(), "what is too large was read");
    }
    assert!(found.set_aside.len() <= MAX_CALLS);
    for start in found.set_aside.iter().map(|aside| aside.start) {
        assert!(output.is_char_boundary(start) && start < output.len());
    }
    if output.len() <= MAX_OUTPUT_BYTES {
        let looks = examined(&output);
        assert!(looks <= LOOKS_PER_BYTE * output.len() + LOOKS, "{looks}");
    }
    shows_the_same_at_every_split(&output);
    for call in &found.calls {
        is_a_call(call);
        let own = ExtractedCall { untyped: false, recovered: false, id: None, ..call.clone() };
        let again = extract(&own.flat().to_string());
        assert_eq!((again.calls, again.text.as_str()), (vec![own], ""), "{call:?}");
    }
    // A final line end has no meaning.
    assert_eq!(extract(&format!("{output}\n")).calls, found.calls);
    if let Ok(call) = from_native(Some("id"), "t", &output) {
        is_a_call(&call);
        assert_eq!((call.tool.as_str(), call.id.as_deref()), ("t", Some("id")));
        assert!(!call.recovered);
    }
}

fn is_a_call(call: &ExtractedCall) {
    assert!(!call.tool.trim().is_empty(), "{call:?}");
    for own in ["device", "dry_run", "queue"] {
        assert!(!call.arguments.contains_key(own), "{call:?}");
    }
}

/// Checks that what is shown of a text as it arrives does not depend on its pieces.
fn shows_the_same_at_every_split(output: &str) {
    let whole = Released::default().push(output);
    assert!(output.contains(&whole), "{whole:?}");
    let mut released = Released::default();
    let letters = output.chars().map(|it| released.push(it.encode_utf8(&mut [0; 4])));
    assert_eq!(letters.collect::<String>(), whole);
    let middle = output.floor_char_boundary(output.len() / 2);
    let (first, second) = output.split_at(middle);
    let mut released = Released::default();
    assert_eq!(released.push(first) + &released.push(second), whole);
}
