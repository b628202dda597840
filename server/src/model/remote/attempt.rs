//! Sends one request with its repetitions, up to the first byte of an answer.

use std::error::Error;
use std::time::Duration;

use orion_domain::Secret;
use rand::RngExt as _;
use reqwest::header::RETRY_AFTER;
use reqwest::{Response, StatusCode};
use serde_json::Value;

use super::{Remote, refusal};
use crate::model::ModelError;

/// How often a request is repeated.
const REPETITIONS: u32 = 2;
/// A longer delay that a server asks for is reported to the person instead.
const MAX_WAIT: Duration = Duration::from_secs(10);
/// How much of an error response's body is read, in bytes.
const BODY_BYTES: usize = 16 * 1024;
/// How much of a server's text people see, in characters.
const SHOWN: usize = 200;

/// Why a request got no answer.
#[derive(Debug)]
pub(super) struct Rejected {
    pub(super) error: ModelError,
    /// Whether the server says that it supports no tools.
    pub(super) no_tools: bool,
    /// Whether the server does not know what it was asked for beside the conversation.
    pub(super) no_extras: bool,
    /// Delay before the next attempt. None where a repetition is useless.
    again_in: Option<Duration>,
}

impl From<Rejected> for ModelError {
    fn from(rejected: Rejected) -> Self {
        rejected.error
    }
}

impl Remote {
    /// Sends `body` until there is an answer, or a repetition is useless.
    pub(super) async fn send(&self, body: &Value) -> Result<Response, Rejected> {
        let bytes = body.to_string();
        let mut wait = self.backoff;
        let mut repetitions = 0;
        loop {
            let rejected = match self.client.post(self.url.clone()).body(bytes.clone()).send().await
            {
                Ok(response) if response.status().is_success() => return Ok(response),
                Ok(response) => self.refusal(response, wait).await,
                Err(error) => Rejected {
                    error: ModelError::Unreachable {
                        host: self.host.clone(),
                        reason: cause(&error),
                        is_sent: !error.is_connect(),
                    },
                    no_tools: false,
                    no_extras: false,
                    again_in: Some(wait),
                },
            };
            match rejected.again_in {
                Some(pause)
                    if repetitions < REPETITIONS && !rejected.no_tools && !rejected.no_extras =>
                {
                    // Jitter, so that many clients of one server do not retry at the same moment.
                    let pause = pause.mul_f64(rand::rng().random_range(1.0..1.25));
                    tokio::time::sleep(pause).await;
                }
                _ => return Err(rejected),
            }
            repetitions += 1;
            wait *= 2;
        }
    }

    async fn refusal(&self, mut response: Response, wait: Duration) -> Rejected {
        let status = response.status();
        let retry_after = response
            .headers()
            .get(RETRY_AFTER)
            .and_then(|value| value.to_str().ok()?.trim().parse::<f64>().ok())
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
        let mut bytes = Vec::new();
        let reading = async {
            while let Ok(Some(more)) = response.chunk().await {
                bytes.extend_from_slice(&more);
                if bytes.len() >= BODY_BYTES {
                    break;
                }
            }
        };
        // The body explains the rejection, but the rejection does not depend on it.
        let _ = tokio::time::timeout(self.idle, reading).await;
        bytes.truncate(BODY_BYTES);
        let text = String::from_utf8_lossy(&bytes);
        let no_tools = refuses_tools(status, &text);
        let no_extras = refuses_extras(status, &text);
        let (kind, message) = self.message(status, &text);
        let error = refusal::meaning(status.as_u16(), &kind, message, retry_after);
        let is_passing = matches!(
            error,
            ModelError::RateLimited { .. }
                | ModelError::Overloaded { .. }
                | ModelError::Refused { status: 500 | 502..=504 | 520..=529, .. }
        );
        let pause = retry_after.unwrap_or(wait);
        let again_in = (is_passing && pause <= MAX_WAIT).then_some(pause);
        Rejected { error, no_tools, no_extras, again_in }
    }

    /// Returns the kind of an error and its message.
    fn message(&self, status: StatusCode, text: &str) -> (String, String) {
        if status.is_redirection() {
            let message = "it points to another address, which is not followed";
            return (String::new(), message.to_owned());
        }
        let value = serde_json::from_str::<Value>(text).ok();
        let value = value.as_ref().map(|value| value.get(0).unwrap_or(value));
        let said = value.and_then(|value| {
            refusal::error_in(value).or_else(|| Some(value.get("message")?.as_str()?.to_owned()))
        });
        let said = said.map_or_else(
            || status.canonical_reason().unwrap_or("no reason given").to_owned(),
            |said| safe(&said, self.key.as_ref()),
        );
        (value.map(refusal::words_of).unwrap_or_default(), said)
    }
}

/// Returns whether a response says that the server does not know what it was asked for beside the
/// conversation.
fn refuses_extras(status: StatusCode, text: &str) -> bool {
    const EXTRAS: [&str; 3] = ["stream_options", "encrypted", "include"];
    let lower = text.to_ascii_lowercase();
    matches!(status.as_u16(), 400 | 422) && EXTRAS.iter().any(|words| lower.contains(words))
}

/// Returns whether a response clearly says that the server supports no tools. A server error, or a rejection
/// of one message, says nothing about the next request.
pub(super) fn refuses_tools(status: StatusCode, text: &str) -> bool {
    /// What servers say of an unsupported parameter.
    const REFUSALS: [&str; 10] = [
        "support",
        "requires",
        "not permitted",
        "not allowed",
        "not available",
        "not enabled",
        "unknown",
        "unrecognized",
        "unexpected",
        "no tools",
    ];
    /// Texts about a message instead of the parameter.
    const OF_MESSAGES: [&str; 3] = ["tool_call_id", "preceding message", "role 'tool'"];
    if !matches!(status.as_u16(), 400 | 404 | 422) {
        return false;
    }
    let lower = text.to_ascii_lowercase();
    (lower.contains("tool") || lower.contains("function call"))
        && REFUSALS.iter().any(|words| lower.contains(words))
        && !OF_MESSAGES.iter().any(|words| lower.contains(words))
}

/// Returns a server's text for people: one short line, without the key or anything like a key.
pub(super) fn safe(text: &str, key: Option<&Secret>) -> String {
    let text = match key {
        Some(key) => text.replace(key.expose(), "…"),
        None => text.to_owned(),
    };
    let words = text.split(|letter: char| letter.is_whitespace() || letter.is_control());
    let mut line = String::new();
    for word in words.filter(|word| !word.is_empty()) {
        let bare = word.trim_start_matches(|letter: char| !letter.is_alphanumeric());
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(if bare.starts_with("sk-") { "…" } else { word });
        if line.len() > 4 * SHOWN {
            break;
        }
    }
    let mut short: String = line.chars().take(SHOWN).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short.trim_end_matches('.').to_owned()
}

/// Returns the innermost cause, without any address.
pub(super) fn cause(error: &reqwest::Error) -> String {
    if error.is_timeout() {
        return "no connection in time".to_owned();
    }
    let mut cause: &dyn Error = error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    if std::ptr::addr_eq(cause, error) {
        return "the connection failed".to_owned();
    }
    safe(&cause.to_string(), None)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_a_server_are_one_short_line_without_keys() {
        let key = Secret::new("hunter2");
        assert_eq!(
            safe("Key hunter2 is\u{1b}[31m bad:\n'sk-abc***xyz'.", Some(&key)),
            "Key … is [31m bad: …"
        );
        assert_eq!(safe(&"é".repeat(500), None).chars().count(), SHOWN + 1);
    }
}
