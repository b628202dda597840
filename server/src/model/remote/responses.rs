//! OpenAI's Responses API: typed events, each for one item of the output.

pub(super) mod request;
#[cfg(test)]
mod tests;

use serde_json::Value;

use super::calls::Fragment;
use super::draft::{Draft, OnText, tokens};
use super::refusal;
use crate::model::{ModelError, Usage};

/// Adds one value: an event of a stream or a whole response.
///
/// # Errors
/// The error that the response ended with, and [`ModelError::TooLarge`].
pub(super) fn take(
    value: &Value,
    draft: &mut Draft,
    on_text: OnText<'_>,
) -> Result<(), ModelError> {
    let Some(kind) = value.get("type").and_then(Value::as_str) else {
        // Without streaming, the response itself is the body.
        if value.get("output").is_some_and(Value::is_array) {
            return ended(value, draft, on_text);
        }
        return Ok(());
    };
    let index = value.get("output_index").and_then(Value::as_u64);
    match kind {
        "response.output_text.delta" => {
            draft.answered = true;
            draft.say(text_of(value.get("delta")), on_text)
        }
        "response.refusal.delta" => {
            draft.answered = true;
            draft.refuse(text_of(value.get("delta")))
        }
        "response.output_item.added" => {
            draft.answered = true;
            match value.get("item") {
                Some(item) if is_call(item) => draft
                    .call(Fragment::named(index, call_id(item), text_of(item.get("name"))), None),
                _ => Ok(()),
            }
        }
        "response.function_call_arguments.delta" => {
            draft.call(Fragment::more(index, text_of(value.get("delta"))), None)
        }
        "response.function_call_arguments.done" => {
            let held = draft.calls.replace(index, text_of(value.get("arguments")));
            draft.hold(held)
        }
        "response.output_item.done" => {
            let Some(item) = value.get("item") else { return Ok(()) };
            draft.answered = true;
            done(item, index, draft, on_text)
        }
        "response.completed" | "response.incomplete" | "response.failed" | "response.cancelled" => {
            match value.get("response") {
                Some(response) => ended(response, draft, on_text),
                None => Ok(()),
            }
        }
        _ => Ok(()),
    }
}

/// Reads an item that is complete.
fn done(
    item: &Value,
    index: Option<u64>,
    draft: &mut Draft,
    on_text: OnText<'_>,
) -> Result<(), ModelError> {
    match item.get("type").and_then(Value::as_str) {
        Some("function_call") => {
            let held = draft.calls.replace(index, text_of(item.get("arguments")));
            if held > 0 {
                return draft.hold(held);
            }
            if draft.calls.has(index) {
                return Ok(());
            }
            let name = Fragment::named(index, call_id(item), text_of(item.get("name")));
            draft.call(name.with_arguments(text_of(item.get("arguments"))), None)
        }
        // What it thought stays sealed; only the provider reads it again.
        Some("reasoning") if item.get("encrypted_content").is_some_and(Value::is_string) => {
            draft.item(index.unwrap_or_default(), item.clone())
        }
        Some("message") if draft.text.is_empty() => {
            let parts = item.get("content").and_then(Value::as_array);
            for part in parts.into_iter().flatten() {
                match part.get("type").and_then(Value::as_str) {
                    Some("refusal") => draft.refuse(text_of(part.get("refusal")))?,
                    Some("output_text" | "text") | None => {
                        draft.say(text_of(part.get("text")), &mut *on_text)?;
                    }
                    Some(_) => {}
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Reads the response that ends the stream.
fn ended(response: &Value, draft: &mut Draft, on_text: OnText<'_>) -> Result<(), ModelError> {
    if let Some(usage) = response.get("usage").filter(|usage| usage.is_object()) {
        draft.usage = Some(Usage {
            input_tokens: tokens(usage.get("input_tokens")),
            output_tokens: tokens(usage.get("output_tokens")),
            cached_tokens: tokens(usage.pointer("/input_tokens_details/cached_tokens")),
            estimated: false,
        });
    }
    if let Some(reason) = refusal::error_in(response) {
        return Err(refusal::in_stream(response, reason, draft.answered));
    }
    let reason = response.pointer("/incomplete_details/reason").and_then(Value::as_str);
    draft.cut |= reason.is_some_and(|reason| reason == "max_output_tokens");
    draft.filtered |= reason.is_some_and(|reason| reason == "content_filter");
    let items = response.get("output").and_then(Value::as_array);
    // Of a stream, every item came before; a body has them only here.
    if !draft.answered {
        for (index, item) in (0..).zip(items.into_iter().flatten()) {
            done(item, Some(index), draft, &mut *on_text)?;
        }
    }
    draft.answered = true;
    draft.finished = true;
    Ok(())
}

fn is_call(item: &Value) -> bool {
    item.get("type").is_some_and(|kind| kind == "function_call")
}

/// Returns the id that a result refers to, which is not the item's own.
fn call_id(item: &Value) -> &str {
    text_of(item.get("call_id").or_else(|| item.get("id")))
}

fn text_of(value: Option<&Value>) -> &str {
    value.and_then(Value::as_str).unwrap_or_default()
}
