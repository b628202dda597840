//! Assembles the values of a stream into an answer.
//!
//! Only the calls themselves show that there are calls: servers use `finish_reason` too differently to rely
//! on it.

use serde_json::Value;

use super::calls::{Calls, Fragment};
use crate::model::{Answer, ModelError, ToolDefinition};

/// An answer in progress.
#[derive(Debug)]
pub(super) struct Accumulator {
    limit_bytes: usize,
    held_bytes: usize,
    text: String,
    refusal: String,
    calls: Calls,
    /// The calls from `function_call`, which some servers send as a copy beside `tool_calls`.
    legacy: Calls,
    /// Whether any value in the expected form arrived.
    answered: bool,
    /// Whether the server sent a finish reason or an end marker.
    finished: bool,
    cut: bool,
}

impl Accumulator {
    pub(super) fn new(tools: &[ToolDefinition], limit_bytes: usize) -> Self {
        let known = || tools.iter().map(|tool| tool.name.clone()).collect();
        Self {
            limit_bytes,
            held_bytes: 0,
            text: String::new(),
            refusal: String::new(),
            calls: Calls::new(known()),
            legacy: Calls::new(known()),
            answered: false,
            finished: false,
            cut: false,
        }
    }

    /// Returns whether the server said that the answer is complete.
    pub(super) const fn finished(&self) -> bool {
        self.finished
    }

    pub(super) const fn done(&mut self) {
        self.finished = true;
    }

    /// Adds one value: a chunk of a stream or a whole completion. Text goes to `on_text` immediately.
    ///
    /// # Errors
    /// The error that the server reports, and [`ModelError::TooLarge`].
    pub(super) fn take(
        &mut self,
        value: &Value,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(), ModelError> {
        if let Value::Array(values) = value {
            return values.iter().try_for_each(|value| self.take(value, on_text));
        }
        if let Some(reason) = error_in(value) {
            return Err(self.failed(value, reason));
        }
        // A chunk without choices carries usage or filter data.
        let Some(choice) = value.get("choices").and_then(|choices| choices.get(0)) else {
            return Ok(());
        };
        self.answered = true;
        if let Some(delta) = choice.get("delta").filter(|delta| delta.is_object()) {
            self.delta(delta, true, on_text)?;
        } else if let Some(message) = choice.get("message").filter(|message| message.is_object()) {
            // A whole message after its pieces has no new text.
            let words = self.text.is_empty();
            self.delta(message, words, on_text)?;
        }
        match choice.get("finish_reason").and_then(Value::as_str) {
            None | Some("" | "null") => {}
            Some(reason) => {
                self.finished = true;
                self.cut |= matches!(reason, "length" | "max_tokens" | "MAX_TOKENS");
            }
        }
        Ok(())
    }

    fn delta(
        &mut self,
        delta: &Value,
        words: bool,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<(), ModelError> {
        if let Some(text) =
            delta.get("content").map(words_in).filter(|text| words && !text.is_empty())
        {
            self.hold(text.len())?;
            self.text.push_str(&text);
            on_text(&text);
        }
        if let Some(text) = delta.get("refusal").and_then(Value::as_str) {
            self.hold(text.len())?;
            self.refusal.push_str(text);
        }
        match delta.get("tool_calls") {
            Some(Value::Array(fragments)) => {
                for (place, fragment) in (0..).zip(fragments) {
                    let place = (fragments.len() > 1).then_some(place);
                    let held = self.calls.push(Fragment::from_value(fragment), place);
                    self.hold(held)?;
                }
            }
            Some(fragment @ Value::Object(_)) => {
                let held = self.calls.push(Fragment::from_value(fragment), None);
                self.hold(held)?;
            }
            Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_)) | None => {}
        }
        if let Some(fragment) = delta.get("function_call").filter(|call| call.is_object()) {
            let held = self.legacy.push(Fragment::from_value(fragment), None);
            self.hold(held)?;
        }
        Ok(())
    }

    const fn hold(&mut self, bytes: usize) -> Result<(), ModelError> {
        self.held_bytes += bytes;
        if self.held_bytes > self.limit_bytes {
            return Err(ModelError::TooLarge { limit_bytes: self.limit_bytes });
        }
        Ok(())
    }

    fn failed(&self, value: &Value, reason: String) -> ModelError {
        let code = value.pointer("/error/code").or_else(|| value.get("code"));
        let status = code.and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        match status.filter(|_| !self.answered) {
            Some(401 | 403) => ModelError::Unauthorized,
            Some(429) => ModelError::RateLimited { retry_after: None },
            Some(status @ 400..=599) => ModelError::Refused { status, message: reason },
            _ if self.answered => ModelError::BrokenStream { reason },
            _ => ModelError::Refused { status: 200, message: reason },
        }
    }

    /// Returns the assembled answer.
    ///
    /// # Errors
    /// [`ModelError::BrokenStream`] where nothing arrived, or a call is incomplete.
    pub(super) fn finish(
        self,
        on_text: &mut (dyn FnMut(&str) + Send),
    ) -> Result<Answer, ModelError> {
        if !self.answered {
            return Err(ModelError::BrokenStream {
                reason: "what came is no chat completion; `url` must be the address below which /chat/completions is".to_owned(),
            });
        }
        let calls = if self.calls.is_empty() { self.legacy } else { self.calls };
        let native_calls = calls.finish();
        let whole = |arguments: &str| {
            arguments.trim().is_empty()
                || serde_json::from_str::<serde::de::IgnoredAny>(arguments).is_ok()
        };
        if !self.finished && !native_calls.iter().all(|call| whole(&call.arguments)) {
            return Err(ModelError::BrokenStream {
                reason: "it ended in the middle of a tool call".to_owned(),
            });
        }
        let mut text = self.text;
        if text.is_empty() && !self.refusal.is_empty() {
            on_text(&self.refusal);
            text = self.refusal;
        }
        let truncated = self.cut || !self.finished;
        Ok(Answer { text, native_calls, truncated, ..Answer::default() })
    }
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

/// Returns the message of an error value, in any of the forms in use.
pub(super) fn error_in(value: &Value) -> Option<String> {
    let error = match value.get("error") {
        Some(Value::Null | Value::Bool(false)) | None => {
            let is_error = value.get("object").is_some_and(|object| object == "error")
                || (value.get("choices").is_none() && value.get("detail").is_some());
            if !is_error {
                return None;
            }
            value
        }
        Some(error) => error,
    };
    let said = ["message", "detail", "msg", "error"].iter().find_map(|name| error.get(name));
    Some(match said.unwrap_or(error) {
        Value::String(text) => text.clone(),
        Value::Bool(_) | Value::Null => "it gave no reason".to_owned(),
        other @ (Value::Number(_) | Value::Array(_) | Value::Object(_)) => other.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(values: &[Value]) -> Result<Answer, ModelError> {
        let mut streamed = String::new();
        let mut on_text = |text: &str| streamed.push_str(text);
        let mut accumulator = Accumulator::new(&[], 2000);
        for value in values {
            accumulator.take(value, &mut on_text)?;
        }
        let answer = accumulator.finish(&mut on_text)?;
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
