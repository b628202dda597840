//! `http_request`: sends one request to a public address.

use std::collections::BTreeMap;

use orion_catalog::requested_url::RequestedUrl;
use orion_catalog::tools::http_request::{Arguments, HttpRequest, Method, Returns};
use orion_domain::{ErrorCode, ToolError};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, SET_COOKIE};
use serde_json::Value;

use super::web::{Answer, Outgoing, WebClient};
use super::{Context, Effect, LocalTool, Outcome, secrets_of_request};

/// How much of an answer is returned.
const MAX_BODY_BYTES: usize = 10 * 1024;
/// The most headers that are returned, and the most bytes of each.
const MAX_HEADERS: usize = 50;
const MAX_HEADER_BYTES: usize = 1024;

impl LocalTool for HttpRequest {
    const EFFECT: Effect = Effect::Outside {
        unknown: "Whether the request was received is not known.",
        hint: "see at the other side what became of it, before it is sent again",
    };

    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let url = RequestedUrl::parse(&arguments.url)?.url;
        let body = arguments.body();
        let (name, host) =
            (arguments.method.as_str(), url.host_str().unwrap_or_default().to_owned());
        if context.dry_run {
            let sent = body.as_ref().map_or(0, Vec::len);
            let message = format!("Would send a {name} with {sent} bytes of data to {host}.");
            let data = Returns { status_code: None, headers: BTreeMap::new(), body: String::new() };
            return Ok(Outcome { message, data, truncated: false });
        }
        let (granted, secrets) = (context.granted::<Self>()?, arguments.secrets());
        let headers = headers_of(&arguments)?;
        let method = match arguments.method {
            Method::Get => reqwest::Method::GET,
            Method::Post => reqwest::Method::POST,
        };
        let outgoing = Outgoing { method, url, headers, body };
        let answer = WebClient::system().send(outgoing, &granted, MAX_BODY_BYTES).await?;
        let is_text = answer.is_text();
        let mut message = format!("{host} answered with status {}.", answer.status);
        if !is_text && !answer.body.is_empty() {
            message.push_str(" The answer is no text and is not shown.");
        }
        let data = Returns {
            status_code: Some(answer.status),
            headers: shown(&answer, &secrets),
            body: if is_text {
                secrets_of_request::remove(answer.text(), &secrets)
            } else {
                String::new()
            },
        };
        Ok(Outcome { message, data, truncated: answer.truncated })
    }
}

fn headers_of(arguments: &Arguments) -> Result<HeaderMap, ToolError> {
    let mut headers = HeaderMap::new();
    match arguments.data {
        Value::Null => {}
        Value::String(_) => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        }
        Value::Bool(_) | Value::Number(_) | Value::Array(_) | Value::Object(_) => {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        }
    }
    for (name, value) in &arguments.headers {
        let (Ok(name), Ok(mut value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>())
        else {
            let message = "A header of the request cannot be sent.";
            return Err(ToolError::new(ErrorCode::InvalidArgument, message)
                .hint("write names and values in plain ASCII"));
        };
        // Libraries that log headers leave these out.
        value.set_sensitive(true);
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Returns the headers that are shown: no cookies, for they let others in, and no secret of the request.
fn shown(answer: &Answer, secrets: &[String]) -> BTreeMap<String, String> {
    let headers = answer.headers.iter().filter(|(name, _)| **name != SET_COOKIE);
    let text = |value: &HeaderValue| {
        let text = String::from_utf8_lossy(value.as_bytes());
        let text = secrets_of_request::remove(text.into_owned(), secrets);
        text.chars().take(MAX_HEADER_BYTES).collect::<String>()
    };
    headers.take(MAX_HEADERS).map(|(name, value)| (name.to_string(), text(value))).collect()
}
