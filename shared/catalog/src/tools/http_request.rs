//! `http_request`: sends one request to a public address.

use std::collections::BTreeMap;
use std::time::Duration;

use orion_domain::{Capability, ErrorCode, Places, Risk, ToolError, Touches, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::execution::{Execution, RunsOn};
use crate::request_secrets::{
    hide_in_headers, hide_in_url, hide_in_url_argument, is_secret_header, secrets_in_url,
};
use crate::requested_url::{RequestedUrl, requested};
use crate::secret_argument::SecretArgument;
use crate::spec::{Category, Tool};

/// The most headers of a request.
const MAX_HEADERS: usize = 20;
/// The most bytes of a header's value.
const MAX_VALUE_BYTES: usize = 4096;
/// The most bytes that a request sends.
const MAX_DATA_BYTES: usize = 64 * 1024;

/// Headers that belong to the connection, and are not the call's to set.
const CONNECTION: [&str; 11] = [
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

/// The `http_request` tool.
#[derive(Debug)]
pub struct HttpRequest;

/// The request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The http or https address. What may be a credential in it is secret.
    #[serde(deserialize_with = "requested")]
    #[schemars(length(min = 1, max = 4096))]
    pub url: String,
    /// The method.
    #[serde(default)]
    pub method: Method,
    /// What a POST sends: a text as it is, anything else as JSON. At most 64 KiB.
    #[serde(default)]
    #[schemars(extend("type" = ["string", "object", "array", "number", "boolean", "null"]))]
    pub data: Value,
    /// Headers of the request, at most 20. The value of one that may carry a credential is secret.
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
}

/// The method of a request.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[expect(missing_docs, reason = "each is its own word")]
pub enum Method {
    #[default]
    Get,
    Post,
}

impl Method {
    /// Returns the name that HTTP uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
        }
    }
}

/// The answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The status; null in a preview.
    pub status_code: Option<u16>,
    /// The headers of the answer, without cookies.
    pub headers: BTreeMap<String, String>,
    /// The first 10 KiB of the answer's text. Empty where it is no text.
    pub body: String,
}

impl Arguments {
    /// Returns what the request sends. None where it sends nothing.
    #[must_use]
    pub fn body(&self) -> Option<Vec<u8>> {
        match &self.data {
            Value::Null => None,
            Value::String(text) => Some(text.clone().into_bytes()),
            other @ (Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_)) => {
                Some(other.to_string().into_bytes())
            }
        }
    }

    /// Returns the values of the request that are secret, as they are sent.
    #[must_use]
    pub fn secrets(&self) -> Vec<String> {
        let headers = self.headers.iter().filter(|(name, value)| is_secret_header(name, value));
        let words = headers.flat_map(|(_, value)| {
            let words = value.split_whitespace().map(str::to_owned);
            std::iter::once(value.clone()).chain(words)
        });
        secrets_in_url(&self.url).into_iter().chain(words).collect()
    }

    /// Returns what an approver is told of the values that are hidden: where they are, how long they are, and whether
    /// they are sent unencrypted.
    fn hidden_parts(&self) -> Vec<String> {
        let headers = self.headers.iter().filter(|(name, value)| is_secret_header(name, value));
        let mut parts: Vec<_> = headers
            .map(|(name, value)| format!("the header {} ({} bytes)", visible(name), value.len()))
            .collect();
        if hide_in_url(&self.url) != self.url {
            parts.push("a part of the address".to_owned());
        }
        if parts.is_empty() {
            return parts;
        }
        let mut sentences =
            vec![format!("It sends values that are not shown: {}.", parts.join(", "))];
        if !self.url.starts_with("https://") {
            sentences.push("They are sent unencrypted.".to_owned());
        }
        sentences
    }

    fn check(&self) -> Result<(), ToolError> {
        let invalid = |message: String| ToolError::new(ErrorCode::InvalidArgument, message);
        let body = self.body();
        if body.is_some() && self.method == Method::Get {
            return Err(invalid("A GET sends no data.".to_owned())
                .hint("put the data into the address, or use the method POST"));
        }
        if body.is_some_and(|body| body.len() > MAX_DATA_BYTES) {
            return Err(invalid(format!("The data has more than {MAX_DATA_BYTES} bytes.")));
        }
        if self.headers.len() > MAX_HEADERS {
            return Err(invalid(format!("The request has more than {MAX_HEADERS} headers.")));
        }
        for (name, value) in &self.headers {
            let shown = visible(&name.chars().take(64).collect::<String>());
            let lower = name.to_ascii_lowercase();
            let is_name = (1..=64).contains(&name.len())
                && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte));
            let is_value = value.len() <= MAX_VALUE_BYTES
                && value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
            if !is_name || !is_value {
                return Err(invalid(format!("The header `{shown}` is no plain header.")));
            }
            if CONNECTION.contains(&lower.as_str()) || lower.starts_with("proxy-") {
                return Err(invalid(format!("The header `{shown}` is set by Orion itself."))
                    .hint("leave it out"));
            }
        }
        Ok(())
    }
}

impl Tool for HttpRequest {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "http_request";
    const CATEGORY: Category = Category::Network;
    const DESCRIPTION: &'static str = "Sends one GET or POST request from the backend to a public address and \
         returns the status, headers and first 10 KiB of the answer. Use it for APIs; to read a page, use \
         fetch_webpage.";
    const RISK: Risk = Risk::Medium;
    const CAPABILITIES: &'static [Capability] = &[Capability::NetworkAccess];
    const HAS_EFFECTS: bool = true;
    const IDEMPOTENT: bool = false;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"http_request","url":"https://example.com/api","method":"POST","data":{"a":1}}"#;
    const RUNS_ON: RunsOn = RunsOn::Backend;
    const EXECUTION: Execution = Execution::Plain;
    const SECRETS: &'static [SecretArgument] = &[
        SecretArgument { name: "url", hide: hide_in_url_argument },
        SecretArgument { name: "headers", hide: hide_in_headers },
    ];
    const TIMEOUT: Option<Duration> = Some(Duration::from_secs(40));

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        arguments.check()?;
        let requested = RequestedUrl::parse(&arguments.url)?;
        Ok(Touches { urls: vec![hide_in_url(requested.url.as_str())], ..Touches::nothing() })
    }

    fn reasons(arguments: &Arguments) -> Vec<String> {
        arguments.hidden_parts()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_no_request_of_a_call_is_refused() {
        let of = |arguments: Value| {
            let arguments: Arguments = serde_json::from_value(arguments).unwrap();
            arguments.check().map_err(|error| error.message)
        };
        let url = "https://example.com/";
        assert_eq!(of(json!({"url": url, "headers": {"Accept": "text/plain"}})), Ok(()));
        assert_eq!(of(json!({"url": url, "method": "POST", "data": "a"})), Ok(()));
        for (arguments, message) in [
            (json!({"url": url, "data": "a"}), "A GET sends no data."),
            (
                json!({"url": url, "headers": {"HOST": "x"}}),
                "The header `HOST` is set by Orion itself.",
            ),
            (
                json!({"url": url, "headers": {"Proxy-Connection": "x"}}),
                "The header `Proxy-Connection` is set by Orion itself.",
            ),
            (
                json!({"url": url, "headers": {"A": "b\r\nHost: c"}}),
                "The header `A` is no plain header.",
            ),
            (json!({"url": url, "headers": {"A b": "c"}}), "The header `A b` is no plain header."),
        ] {
            assert_eq!(of(arguments), Err(message.to_owned()));
        }
        assert_eq!(of(json!({"url": url, "headers": {"Authorization": "Bearer x"}})), Ok(()));
        let large = json!({"url": url, "method": "POST", "data": "x".repeat(MAX_DATA_BYTES + 1)});
        assert!(of(large).is_err());
    }

    #[test]
    fn an_approver_is_told_where_hidden_values_are_and_not_what_they_are() {
        let reasons =
            |arguments: Value| HttpRequest::reasons(&serde_json::from_value(arguments).unwrap());
        let plain = json!({"url": "http://example.com/?q=1", "headers": {"Accept": "text/plain"}});
        assert_eq!(reasons(plain), Vec::<String>::new());
        let secret =
            json!({"url": "http://example.com/?token=hunter2", "headers": {"api-key": "hunter2"}});
        assert_eq!(
            reasons(secret),
            [
                "It sends values that are not shown: the header api-key (7 bytes), a part of the address.",
                "They are sent unencrypted."
            ]
        );
    }
}
