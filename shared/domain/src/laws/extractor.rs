//! Laws of the extractor: a bounded result for every text, and every written call is read back.

use crate::extract::{
    ExtractedCall, MAX_CALLS, MAX_OUTPUT_BYTES, MAX_PROBLEMS, extract, from_native,
};

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
    for call in &found.calls {
        is_a_call(call);
        let own = ExtractedCall { recovered: false, id: None, ..call.clone() };
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
