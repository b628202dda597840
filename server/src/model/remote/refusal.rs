//! What a server's error means, whichever provider words it.

use std::time::Duration;

use serde_json::Value;

use crate::model::ModelError;

/// Returns the message of an error value, in any of the forms in use. None where the value is no error.
pub(super) fn error_in(value: &Value) -> Option<String> {
    let error = match value.get("error") {
        Some(Value::Null | Value::Bool(false)) | None => {
            let is_error = value.get("object").is_some_and(|object| object == "error")
                || value.get("type").is_some_and(|kind| kind == "error")
                || (value.get("choices").is_none()
                    && value.get("type").is_none()
                    && value.get("detail").is_some());
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

/// Returns the error for an error value in a stream. `answered` tells whether a part of the answer arrived.
pub(super) fn in_stream(value: &Value, message: String, answered: bool) -> ModelError {
    if answered {
        return ModelError::BrokenStream { reason: message };
    }
    let error = value.get("error").unwrap_or(value);
    let code = error.get("code").or_else(|| value.get("code"));
    let status = code.and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
    let status = status.filter(|status| (400..=599).contains(status)).unwrap_or(200);
    meaning(status, &words_of(value), message, None)
}

/// Returns the words by which providers name the kind of an error: its type, code and status.
pub(super) fn words_of(value: &Value) -> String {
    let error = value.get("error").unwrap_or(value);
    let names = ["type", "code", "status"].iter();
    let words = names.filter_map(|name| error.get(name)?.as_str());
    words.collect::<Vec<_>>().join(" ").to_ascii_lowercase()
}

/// Returns what an error with this HTTP status means. `kind` is what [`words_of`] found.
pub(super) fn meaning(
    status: u16,
    kind: &str,
    message: String,
    retry_after: Option<Duration>,
) -> ModelError {
    let has = |words: &[&str]| words.iter().any(|word| kind.contains(word));
    let lower = message.to_ascii_lowercase();
    if is_too_long(kind, &lower) {
        return ModelError::ContextTooLong;
    }
    let is_key = matches!(status, 401 | 403)
        || has(&["authentication_error", "permission_error", "invalid_api_key", "unauthenticated"])
        || (status == 400 && lower.contains("api key not valid"));
    if is_key {
        return ModelError::Unauthorized;
    }
    // A quota that is used up stays used up, and its message says where to go.
    if status == 429 && has(&["insufficient_quota", "billing"]) {
        return ModelError::Refused { status, message };
    }
    if status == 429 || has(&["rate_limit", "resource_exhausted"]) {
        return ModelError::RateLimited { retry_after };
    }
    if matches!(status, 503 | 529) || has(&["overloaded", "unavailable"]) {
        return ModelError::Overloaded { retry_after };
    }
    ModelError::Refused { status, message }
}

/// Returns whether the server says that the request exceeds the model's window.
fn is_too_long(kind: &str, message: &str) -> bool {
    const KINDS: [&str; 3] =
        ["context_length_exceeded", "exceed_context_size", "contextwindowexceeded"];
    const WORDS: [&str; 7] = [
        "maximum context length",
        "prompt is too long",
        "exceeds the context window",
        "exceeds the available context size",
        "contextwindowexceeded",
        "input token count",
        "exceed context limit",
    ];
    KINDS.iter().any(|words| kind.contains(words))
        || WORDS.iter().any(|words| message.contains(words))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_well_known_servers_say_is_one_of_a_few_errors() {
        let long = ModelError::ContextTooLong;
        let busy = ModelError::Overloaded { retry_after: None };
        let limited = ModelError::RateLimited { retry_after: None };
        for (status, body, expected) in [
            (
                400,
                json!({"error": {"code": "context_length_exceeded", "message": "This model's maximum context length is 8192 tokens."}}),
                &long,
            ),
            (
                400,
                json!({"type": "error", "error": {"type": "invalid_request_error", "message": "prompt is too long: 214315 tokens > 200000 maximum"}}),
                &long,
            ),
            (
                400,
                json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."}}),
                &long,
            ),
            (
                400,
                json!({"error": {"type": "exceed_context_size_error", "message": "the request exceeds the available context size"}}),
                &long,
            ),
            (
                529,
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                &busy,
            ),
            (
                503,
                json!({"error": {"code": 503, "status": "UNAVAILABLE", "message": "The model is overloaded."}}),
                &busy,
            ),
            (
                429,
                json!({"error": {"code": 429, "status": "RESOURCE_EXHAUSTED", "message": "Quota"}}),
                &limited,
            ),
            (
                401,
                json!({"error": {"type": "authentication_error", "message": "invalid x-api-key"}}),
                &ModelError::Unauthorized,
            ),
            (
                400,
                json!({"error": {"code": 400, "status": "INVALID_ARGUMENT", "message": "API key not valid. Please pass a valid API key."}}),
                &ModelError::Unauthorized,
            ),
            (
                429,
                json!({"error": {"code": "insufficient_quota", "message": "You exceeded your current quota"}}),
                &ModelError::Refused {
                    status: 429,
                    message: "You exceeded your current quota".to_owned(),
                },
            ),
        ] {
            let message = error_in(&body).unwrap();
            assert_eq!(meaning(status, &words_of(&body), message, None), *expected, "{body}");
        }
        let overloaded = json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}});
        assert_eq!(in_stream(&overloaded, "Overloaded".to_owned(), false), busy);
        let broken = ModelError::BrokenStream { reason: "Overloaded".to_owned() };
        assert_eq!(in_stream(&overloaded, "Overloaded".to_owned(), true), broken);
    }
}
