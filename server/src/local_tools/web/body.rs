//! Reads an answer: bounded before and after decompression, as text.

use std::io::Read as _;

use encoding_rs::{Encoding, UTF_8};
use flate2::read::MultiGzDecoder;
use futures_util::StreamExt as _;
use orion_domain::{ErrorCode, ToolError};
use reqwest::header::{CONTENT_ENCODING, CONTENT_TYPE, HeaderMap};
use reqwest::{Response, Url};

/// The most bytes of an answer, as it is sent and as it is read.
pub(in crate::local_tools) const MAX_BYTES: usize = 2 * 1024 * 1024;

/// How far into a page its own encoding is looked for, as HTML has it.
const MAX_PRESCAN_BYTES: usize = 1024;

/// An answer.
#[derive(Debug)]
pub(in crate::local_tools) struct Answer {
    /// Where it came from, after redirects.
    pub(in crate::local_tools) url: Url,
    /// The status.
    pub(in crate::local_tools) status: u16,
    /// The headers.
    pub(in crate::local_tools) headers: HeaderMap,
    /// The content, decompressed.
    pub(in crate::local_tools) body: Vec<u8>,
    /// Whether there is more.
    pub(in crate::local_tools) truncated: bool,
}

/// Reads an answer, at most `max` bytes of its content.
pub(super) async fn read(url: Url, response: Response, max: usize) -> Result<Answer, ToolError> {
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    let mut raw = Vec::new();
    let (mut parts, mut truncated) = (response.bytes_stream(), false);
    while let Some(part) = parts.next().await {
        let part = part.map_err(|_| {
            let host = url.host_str().unwrap_or_default();
            ToolError::new(ErrorCode::ExecutionFailed, format!("{host} broke off its answer."))
                .hint("try again later")
        })?;
        let room = MAX_BYTES.saturating_sub(raw.len());
        raw.extend_from_slice(part.get(..room).unwrap_or(&part));
        if part.len() > room {
            truncated = true;
            break;
        }
    }
    let (mut body, more) = decompressed(raw, &headers, max)?;
    truncated |= more || body.len() > max;
    body.truncate(max);
    Ok(Answer { url, status, headers, body, truncated })
}

/// Returns the content, at most `max` bytes of it where it was compressed, and whether it goes on.
fn decompressed(
    raw: Vec<u8>,
    headers: &HeaderMap,
    max: usize,
) -> Result<(Vec<u8>, bool), ToolError> {
    let encoding = headers.get(CONTENT_ENCODING).and_then(|value| value.to_str().ok());
    match encoding.unwrap_or("identity").trim().to_ascii_lowercase().as_str() {
        "identity" | "" => Ok((raw, false)),
        "gzip" | "x-gzip" => {
            let mut body = Vec::new();
            let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
            let read = MultiGzDecoder::new(raw.as_slice()).take(limit).read_to_end(&mut body);
            // What came before the damage, or before the answer was cut, is shown.
            let is_whole = read.is_ok() && body.len() <= max;
            Ok((body, !is_whole))
        }
        _ => Err(ToolError::new(
            ErrorCode::ExecutionFailed,
            "The answer is compressed in a way that was not asked for.",
        )
        .hint("request another address")),
    }
}

impl Answer {
    /// Returns the media type in lower case, without its parameters.
    pub(in crate::local_tools) fn media_type(&self) -> String {
        let written = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let kind = written.unwrap_or_default().split(';').next().unwrap_or_default();
        kind.trim().to_ascii_lowercase()
    }

    /// Returns whether the content is text, by its media type. Without one it is, if it is UTF-8.
    pub(in crate::local_tools) fn is_text(&self) -> bool {
        let kind = self.media_type();
        let is_text_type = kind.starts_with("text/")
            || kind.ends_with("+json")
            || kind.ends_with("+xml")
            || matches!(
                kind.as_str(),
                "application/json"
                    | "application/xml"
                    | "application/javascript"
                    | "application/x-ndjson"
                    | "application/yaml"
                    | "application/toml"
            );
        is_text_type || (kind.is_empty() && !self.body.contains(&0))
    }

    /// Returns whether the content is a page.
    pub(in crate::local_tools) fn is_html(&self) -> bool {
        matches!(self.media_type().as_str(), "text/html" | "application/xhtml+xml")
    }

    /// Returns the content as text, by its byte order mark, its header, or what the page itself says.
    pub(in crate::local_tools) fn text(&self) -> String {
        let written = self.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let named = charset_in(written.unwrap_or_default().as_bytes());
        let start = self.body.get(..MAX_PRESCAN_BYTES).unwrap_or(&self.body);
        let named = named.or_else(|| self.is_html().then(|| charset_in(start)).flatten());
        let (text, ..) = named.unwrap_or(UTF_8).decode(&self.body);
        text.into_owned()
    }
}

/// Returns the encoding that stands after the first `charset=`.
fn charset_in(text: &[u8]) -> Option<&'static Encoding> {
    const KEY: &[u8] = b"charset=";
    let at = text.windows(KEY.len()).position(|part| part.eq_ignore_ascii_case(KEY))?;
    let rest = text.get(at + KEY.len()..)?;
    let rest = rest.strip_prefix(b"\"").or_else(|| rest.strip_prefix(b"'")).unwrap_or(rest);
    let is_label = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_:.".contains(byte);
    let end = rest.iter().position(|byte| !is_label(byte)).unwrap_or(rest.len());
    Encoding::for_label(rest.get(..end)?)
}
