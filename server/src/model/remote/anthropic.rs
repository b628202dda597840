//! Anthropic's Messages API: events for numbered blocks of text, calls and thinking.

pub(super) mod request;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::calls::Fragment;
use super::draft::{Draft, OnText, tokens};
use crate::model::{ModelError, Usage};

/// Adds one value: an event of a stream or a whole message.
///
/// # Errors
/// [`ModelError::TooLarge`].
pub(super) fn take(
    value: &Value,
    draft: &mut Draft,
    on_text: OnText<'_>,
) -> Result<(), ModelError> {
    let at = value.get("index").and_then(Value::as_u64).unwrap_or_default();
    match text_of(value.get("type")) {
        "message_start" => {
            draft.answered = true;
            count(value.pointer("/message/usage"), draft);
            Ok(())
        }
        "content_block_start" => {
            draft.answered = true;
            match value.get("content_block") {
                Some(block) => begin(at, block, draft, on_text),
                None => Ok(()),
            }
        }
        "content_block_delta" => {
            draft.answered = true;
            match value.get("delta") {
                Some(delta) => grow(at, delta, draft, on_text),
                None => Ok(()),
            }
        }
        "message_delta" => {
            count(value.get("usage"), draft);
            stop(value.pointer("/delta/stop_reason"), draft);
            Ok(())
        }
        "message_stop" => {
            draft.finished = true;
            Ok(())
        }
        // Without streaming, the message itself is the body.
        "message" => {
            draft.answered = true;
            let blocks = value.get("content").and_then(Value::as_array);
            for (at, block) in (0..).zip(blocks.into_iter().flatten()) {
                begin(at, block, draft, &mut *on_text)?;
            }
            count(value.get("usage"), draft);
            stop(value.get("stop_reason"), draft);
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Begins a block. In a stream it is empty.
fn begin(at: u64, block: &Value, draft: &mut Draft, on_text: OnText<'_>) -> Result<(), ModelError> {
    match text_of(block.get("type")) {
        "text" => draft.say(text_of(block.get("text")), on_text),
        "tool_use" => {
            let named =
                Fragment::named(Some(at), text_of(block.get("id")), text_of(block.get("name")));
            let input = match block.get("input") {
                Some(Value::String(text)) if text.trim() != "{}" => text.clone(),
                Some(Value::Object(input)) if !input.is_empty() => json!(input).to_string(),
                _ => String::new(),
            };
            draft.call(named.with_arguments(&input), None)
        }
        "thinking" | "redacted_thinking" => draft.item(at, block.clone()),
        _ => Ok(()),
    }
}

fn grow(at: u64, delta: &Value, draft: &mut Draft, on_text: OnText<'_>) -> Result<(), ModelError> {
    match text_of(delta.get("type")) {
        "text_delta" => draft.say(text_of(delta.get("text")), on_text),
        "input_json_delta" => {
            draft.call(Fragment::more(Some(at), text_of(delta.get("partial_json"))), None)
        }
        "thinking_delta" => draft.extend_item(at, "thinking", text_of(delta.get("thinking"))),
        "signature_delta" => draft.extend_item(at, "signature", text_of(delta.get("signature"))),
        _ => Ok(()),
    }
}

/// Takes the figures that are there; each event has the total so far.
fn count(usage: Option<&Value>, draft: &mut Draft) {
    let Some(usage) = usage.filter(|usage| usage.is_object()) else { return };
    let mut total = draft.usage.unwrap_or_default();
    if usage.get("input_tokens").is_some_and(Value::is_u64) {
        let cached = tokens(usage.get("cache_read_input_tokens"));
        let written = tokens(usage.get("cache_creation_input_tokens"));
        total = Usage {
            // The provider counts what it read from its cache, and wrote there, beside the input.
            input_tokens: tokens(usage.get("input_tokens"))
                .saturating_add(cached)
                .saturating_add(written),
            cached_tokens: cached,
            ..total
        };
    }
    if usage.get("output_tokens").is_some_and(Value::is_u64) {
        total.output_tokens = tokens(usage.get("output_tokens"));
    }
    draft.usage = Some(total);
}

fn stop(reason: Option<&Value>, draft: &mut Draft) {
    let reason = text_of(reason);
    draft.finished |= !reason.is_empty();
    draft.cut |= matches!(reason, "max_tokens" | "model_context_window_exceeded");
    draft.filtered |= reason == "refusal";
}

fn text_of(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}
