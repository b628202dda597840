//! Gemini's `streamGenerateContent`: candidates with parts, in which a call is whole.

pub(super) mod request;
#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use super::calls::Fragment;
use super::draft::{Draft, OnText, tokens};
use crate::model::{ModelError, Usage};

/// Adds one value: a part of a stream or a whole response.
///
/// # Errors
/// [`ModelError::TooLarge`].
pub(super) fn take(
    value: &Value,
    draft: &mut Draft,
    on_text: OnText<'_>,
) -> Result<(), ModelError> {
    if let Some(usage) = value.get("usageMetadata").filter(|usage| usage.is_object()) {
        draft.usage = Some(Usage {
            input_tokens: tokens(usage.get("promptTokenCount")),
            output_tokens: tokens(usage.get("candidatesTokenCount"))
                .saturating_add(tokens(usage.get("thoughtsTokenCount"))),
            cached_tokens: tokens(usage.get("cachedContentTokenCount")),
            estimated: false,
        });
    }
    if value.pointer("/promptFeedback/blockReason").is_some_and(Value::is_string) {
        draft.answered = true;
        draft.finished = true;
        draft.filtered = true;
    }
    let Some(candidate) = value.get("candidates").and_then(|candidates| candidates.get(0)) else {
        return Ok(());
    };
    draft.answered = true;
    let parts = candidate.pointer("/content/parts").and_then(Value::as_array);
    for part in parts.into_iter().flatten() {
        take_part(part, draft, &mut *on_text)?;
    }
    match candidate.get("finishReason").and_then(Value::as_str) {
        None | Some("" | "FINISH_REASON_UNSPECIFIED") => {}
        Some(reason) => {
            draft.finished = true;
            draft.cut |= reason == "MAX_TOKENS";
            draft.filtered |= matches!(
                reason,
                "SAFETY" | "RECITATION" | "BLOCKLIST" | "PROHIBITED_CONTENT" | "SPII"
            );
        }
    }
    Ok(())
}

fn take_part(part: &Value, draft: &mut Draft, on_text: OnText<'_>) -> Result<(), ModelError> {
    // A summary of what it thought is no text of the answer.
    if part.get("thought").is_some_and(|thought| *thought == true) {
        return Ok(());
    }
    if let Some(call) = part.get("functionCall").filter(|call| call.is_object()) {
        let number = draft.calls.len();
        let text = |name: &str| call.get(name).and_then(Value::as_str).unwrap_or_default();
        let arguments = match call.get("args") {
            Some(Value::String(text)) => text.clone(),
            Some(value) if !value.is_null() => value.to_string(),
            _ => "{}".to_owned(),
        };
        // Each part is a call of its own, also where it equals the one before.
        let whole = Fragment::named(Some(number), text("id"), text("name"));
        draft.call(whole.with_arguments(&arguments), None)?;
        if let Some(signature) = part.get("thoughtSignature").filter(|it| it.is_string()) {
            draft.item(number, json!({"call": number, "thoughtSignature": signature}))?;
        }
        return Ok(());
    }
    draft.say(part.get("text").and_then(Value::as_str).unwrap_or_default(), on_text)
}
