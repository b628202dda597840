//! OpenAI's Chat Completions, read leniently: the form that most servers speak.

pub(super) mod request;

use serde_json::Value;

use super::calls::Fragment;
use super::draft::{Draft, OnText, tokens};
use crate::model::{ModelError, Usage};

/// Adds one value: a chunk of a stream or a whole completion.
///
/// # Errors
/// [`ModelError::TooLarge`].
pub(super) fn take(
    value: &Value,
    draft: &mut Draft,
    on_text: OnText<'_>,
) -> Result<(), ModelError> {
    if let Some(usage) = value.get("usage").filter(|usage| usage.is_object()) {
        draft.usage = Some(used(usage));
    }
    // A chunk without choices carries usage or filter data.
    let Some(choice) = value.get("choices").and_then(|choices| choices.get(0)) else {
        return Ok(());
    };
    draft.answered = true;
    if let Some(part) = choice.get("delta").filter(|delta| delta.is_object()) {
        delta(part, true, draft, on_text)?;
    } else if let Some(message) = choice.get("message").filter(|message| message.is_object()) {
        // A whole message after its pieces has no new text.
        let words = draft.text.is_empty();
        delta(message, words, draft, on_text)?;
    }
    match choice.get("finish_reason").and_then(Value::as_str) {
        None | Some("" | "null") => {}
        Some(reason) => {
            draft.finished = true;
            draft.cut |= matches!(reason, "length" | "max_tokens" | "MAX_TOKENS");
            draft.filtered |= reason == "content_filter";
        }
    }
    Ok(())
}

fn used(usage: &Value) -> Usage {
    Usage {
        input_tokens: tokens(usage.get("prompt_tokens")),
        output_tokens: tokens(usage.get("completion_tokens")),
        cached_tokens: tokens(usage.pointer("/prompt_tokens_details/cached_tokens")),
        estimated: false,
    }
}

fn delta(
    delta: &Value,
    words: bool,
    draft: &mut Draft,
    on_text: OnText<'_>,
) -> Result<(), ModelError> {
    if let Some(text) = delta.get("content").map(words_in).filter(|_| words) {
        draft.say(&text, on_text)?;
    }
    if let Some(text) = delta.get("refusal").and_then(Value::as_str) {
        draft.refuse(text)?;
    }
    match delta.get("tool_calls") {
        Some(Value::Array(fragments)) => {
            for (place, fragment) in (0..).zip(fragments) {
                let place = (fragments.len() > 1).then_some(place);
                draft.call(Fragment::from_value(fragment), place)?;
            }
        }
        Some(fragment @ Value::Object(_)) => draft.call(Fragment::from_value(fragment), None)?,
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => {}
    }
    if let Some(fragment) = delta.get("function_call").filter(|call| call.is_object()) {
        let held = draft.legacy.push(Fragment::from_value(fragment), None);
        draft.hold(held)?;
    }
    Ok(())
}

/// Returns the text in `content`: a string, null, or a list of parts of which some are text.
fn words_in(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts.iter().map(words_in).collect(),
        Value::Object(part) => {
            let kind = part.get("type").and_then(Value::as_str).unwrap_or("text");
            let text = part.get("text").and_then(Value::as_str).unwrap_or_default();
            if matches!(kind, "text" | "output_text") { text.to_owned() } else { String::new() }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Answer;
    use crate::model::remote::form::Form;

    fn read(values: &[Value]) -> Result<Answer, ModelError> {
        let mut streamed = String::new();
        let mut on_text = |text: &str| streamed.push_str(text);
        let mut draft = Draft::new(&[], 2000);
        for value in values {
            Form::Chat.take(value, &mut draft, &mut on_text)?;
        }
        let answer = draft.finish("chat completion", |_| unreachable!(), &mut on_text)?;
        assert_eq!(streamed, answer.text, "what is heard is what is answered");
        Ok(answer)
    }

    fn said(text: &str) -> Answer {
        Answer { text: text.to_owned(), ..Answer::default() }
    }

    #[test]
    fn words_are_found_in_every_form_of_content() {
        let end = json!({"choices": [{"delta": {}, "finish_reason": "stop"}]});
        for content in [
            json!("Hi"),
            json!([{"type": "text", "text": "H"}, {"type": "thinking", "text": "?"}, {"text": "i"}]),
            json!({"type": "text", "text": "Hi"}),
        ] {
            let chunk = json!({"choices": [{"delta": {"content": content, "reasoning_content": "hm"}, "finish_reason": null}]});
            assert_eq!(read(&[chunk, end.clone()]), Ok(said("Hi")), "{content}");
        }
        let whole = json!({"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "eos"}]});
        assert_eq!(read(std::slice::from_ref(&whole)), Ok(said("Hi")));
        let piece = json!({"choices": [{"delta": {"content": "Hi"}}]});
        assert_eq!(read(&[piece, whole]), Ok(said("Hi")), "the whole after its pieces");
        let none = json!({"choices": [{"delta": {"content": null, "tool_calls": null}}]});
        assert_eq!(read(&[none, end]), Ok(said("")));
    }

    #[test]
    fn a_refusal_is_the_answer_where_there_is_no_other() {
        let chunk = json!({"choices": [{"delta": {"content": null, "refusal": "No."}, "finish_reason": "stop"}]});
        assert_eq!(read(&[chunk]), Ok(said("No.")));
    }

    #[test]
    fn a_legacy_call_counts_unless_it_is_a_copy() {
        let legacy = json!({"name": "read_file", "arguments": "{}"});
        let alone =
            json!({"choices": [{"delta": {"function_call": legacy}, "finish_reason": "stop"}]});
        let both = json!({"choices": [{"delta": {"function_call": legacy, "tool_calls": [{"index": 0, "id": "x", "function": legacy}]}, "finish_reason": "stop"}]});
        for (value, id) in [(alone, "call_1"), (both, "x")] {
            let ids: Vec<String> =
                read(&[value]).unwrap().native_calls.into_iter().map(|call| call.id).collect();
            assert_eq!(ids, [id]);
        }
    }

    #[test]
    fn an_error_in_the_stream_ends_it_and_says_why() {
        let piece = json!({"choices": [{"delta": {"content": "Hi"}}]});
        let broken = |reason: &str| Err(ModelError::BrokenStream { reason: reason.to_owned() });
        assert_eq!(read(&[piece.clone(), json!({"error": {"message": "full"}})]), broken("full"));
        assert_eq!(read(&[piece.clone(), json!([{"error": "full"}])]), broken("full"));
        assert_eq!(
            read(&[piece, json!({"error": null, "choices": []})]),
            Ok(Answer { truncated: true, ..said("Hi") })
        );
        assert_eq!(
            read(&[json!({"error": {"code": 404, "message": "no such model"}})]),
            Err(ModelError::Refused { status: 404, message: "no such model".to_owned() })
        );
        assert_eq!(
            read(&[json!({"error": {"code": 429}})]),
            Err(ModelError::RateLimited { retry_after: None })
        );
        assert!(matches!(read(&[json!({"hello": 1})]), Err(ModelError::BrokenStream { .. })));
    }

    #[test]
    fn an_end_that_nobody_announced_is_cut_text_and_no_half_call() {
        let text = json!({"choices": [{"delta": {"content": "Hi"}}]});
        assert_eq!(read(&[text]), Ok(Answer { truncated: true, ..said("Hi") }));
        let half = json!({"choices": [{"delta": {"tool_calls": [{"index": 0, "function": {"name": "x", "arguments": "{\"a"}}]}}]});
        assert!(matches!(read(&[half]), Err(ModelError::BrokenStream { .. })));
    }

    #[test]
    fn an_answer_has_a_size() {
        let chunk = json!({"choices": [{"delta": {"content": "x".repeat(1500)}}]});
        assert_eq!(read(&[chunk.clone(), chunk]), Err(ModelError::TooLarge { limit_bytes: 2000 }));
        let many: Vec<Value> = (0..200)
            .map(|index| json!({"choices": [{"delta": {"tool_calls": [{"index": index, "function": {"name": "x"}}]}}]}))
            .collect();
        assert_eq!(read(&many), Err(ModelError::TooLarge { limit_bytes: 2000 }));
    }
}
