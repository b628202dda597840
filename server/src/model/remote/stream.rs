//! Decodes the bytes of a response to its JSON values: server-sent events, or one plain body.
//!
//! No library is used, because servers err in ways that must neither lose a value nor crash the backend.
//! Examples are a byte order mark, a last event without its empty line, several values in one event and lines
//! of any length.

use std::collections::BTreeMap;

use serde_json::value::RawValue;
use serde_json::{Value, json};

/// An item of the stream.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Frame {
    /// A JSON value.
    Chunk(Value),
    /// The server's end marker.
    Done,
}

/// Why a stream cannot be decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Unreadable {
    /// JSON that is not valid.
    Broken,
    /// An event or a body exceeds the limit.
    TooLarge,
}

/// Decodes a response as it arrives, in pieces of any size.
#[derive(Debug)]
pub(super) struct Decoder {
    /// Maximum number of bytes held at a time.
    limit: usize,
    form: Form,
    /// Bytes that are not parsed yet: the current line, or the whole body.
    held: Vec<u8>,
    data: String,
    /// The current event's name; empty where it has none.
    event: String,
    /// Whether the last byte was a carriage return, whose line feed may follow.
    after_return: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Unknown,
    Events,
    Body,
}

impl Decoder {
    pub(super) const fn new(limit: usize) -> Self {
        Self {
            limit,
            form: Form::Unknown,
            held: Vec::new(),
            data: String::new(),
            event: String::new(),
            after_return: false,
        }
    }

    /// Decodes the next bytes and returns the frames that they complete.
    pub(super) fn push(&mut self, bytes: &[u8]) -> Result<Vec<Frame>, Unreadable> {
        let start;
        let mut bytes = bytes;
        if self.form == Form::Unknown {
            self.held.extend_from_slice(bytes);
            start = std::mem::take(&mut self.held);
            let Some((form, skipped)) = form(&start) else {
                self.held = start;
                self.bounded()?;
                return Ok(Vec::new());
            };
            self.form = form;
            bytes = start.get(skipped..).unwrap_or_default();
        }
        let mut frames = Vec::new();
        if self.form == Form::Body {
            self.held.extend_from_slice(bytes);
        } else {
            for byte in bytes {
                match byte {
                    b'\n' if self.after_return => self.after_return = false,
                    b'\n' | b'\r' => {
                        self.after_return = *byte == b'\r';
                        self.line(&mut frames)?;
                    }
                    _ => {
                        self.after_return = false;
                        self.held.push(*byte);
                    }
                }
            }
        }
        self.bounded()?;
        Ok(frames)
    }

    /// Ends the stream and returns the frames that were still open.
    pub(super) fn finish(&mut self) -> Result<Vec<Frame>, Unreadable> {
        let mut frames = Vec::new();
        if self.form == Form::Body {
            values(&String::from_utf8_lossy(&std::mem::take(&mut self.held)), &mut frames)?;
        } else {
            self.line(&mut frames)?;
            self.dispatch(&mut frames)?;
        }
        Ok(frames)
    }

    const fn bounded(&self) -> Result<(), Unreadable> {
        if self.held.len() + self.data.len() > self.limit {
            return Err(Unreadable::TooLarge);
        }
        Ok(())
    }

    fn line(&mut self, frames: &mut Vec<Frame>) -> Result<(), Unreadable> {
        let bytes = std::mem::take(&mut self.held);
        if bytes.is_empty() {
            return self.dispatch(frames);
        }
        let line = String::from_utf8_lossy(&bytes);
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                self.data.push_str(value);
                self.data.push('\n');
                self.bounded()?;
            }
            "event" => value.clone_into(&mut self.event),
            // Comments keep the connection open; the other fields are for browsers.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, frames: &mut Vec<Frame>) -> Result<(), Unreadable> {
        let data = std::mem::take(&mut self.data);
        let event = std::mem::take(&mut self.event);
        let first = frames.len();
        values(&data, frames)?;
        if event == "error" {
            for frame in frames.iter_mut().skip(first) {
                if let Frame::Chunk(value) = frame
                    && value.get("error").is_none()
                {
                    *value = json!({ "error": value.take() });
                }
            }
        }
        Ok(())
    }
}

/// Detects the response's form from its first bytes, and how many bytes to skip. `None` while they are not
/// enough.
fn form(bytes: &[u8]) -> Option<(Form, usize)> {
    const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];
    let marked = bytes.iter().zip(&MARK).take_while(|(byte, mark)| byte == mark).count();
    if marked > 0 && marked < MARK.len() && marked == bytes.len() {
        return None;
    }
    let skipped = if marked == MARK.len() { MARK.len() } else { 0 };
    let rest = bytes.get(skipped..).unwrap_or_default();
    let spaces = rest.iter().take_while(|byte| byte.is_ascii_whitespace()).count();
    match rest.get(spaces)? {
        b'{' | b'[' => Some((Form::Body, skipped)),
        _ => Some((Form::Events, skipped + spaces)),
    }
}

/// Parses the JSON values in `text`, one after another. Text that is not JSON is skipped, because proxies
/// insert text of their own between events.
fn values(text: &str, frames: &mut Vec<Frame>) -> Result<(), Unreadable> {
    let mut rest = text.trim();
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("[DONE]") {
            frames.push(Frame::Done);
            rest = after.trim_start();
        } else if rest.starts_with(['{', '[']) {
            let mut stream = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
            // The value is parsed once before: this parser stops at excessive nesting.
            let Some(Ok(_)) = stream.next() else { return Err(Unreadable::Broken) };
            let (text, after) = rest.split_at(stream.byte_offset());
            frames.push(Frame::Chunk(as_written(text).map_err(|_| Unreadable::Broken)?));
            rest = after.trim_start();
        } else {
            rest = rest.split_once('\n').map_or("", |(_, after)| after).trim_start();
        }
    }
    Ok(())
}

/// Parses a value, but keeps a call's arguments as the text that the model wrote, even where they came as an
/// object. A duplicate name in them is still detected, and rejected in the same way.
fn as_written(text: &str) -> Result<Value, serde_json::Error> {
    let text = text.trim();
    if text.starts_with('[') {
        let items: Vec<&RawValue> = serde_json::from_str(text)?;
        return items.into_iter().map(|item| as_written(item.get())).collect();
    }
    if !text.starts_with('{') {
        return serde_json::from_str(text);
    }
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(text)?;
    let member = |(name, value): (String, &RawValue)| {
        let text = value.get();
        let value = match name.as_str() {
            "arguments" | "parameters" | "args" | "input" if text.starts_with('{') => {
                Value::String(text.to_owned())
            }
            // The path to the arguments.
            "choices" | "delta" | "message" | "tool_calls" | "function" | "function_call"
            | "item" | "response" | "output" | "content_block" | "content" | "candidates"
            | "parts" | "functionCall" => as_written(text)?,
            _ => serde_json::from_str(text)?,
        };
        Ok((name, value))
    };
    members.into_iter().map(member).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_kept_as_they_were_written() {
        let body = r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":{"b":1, "a":2, "a":3}}}]}}],"n":1.50}"#;
        let written = json!({"choices": [{"delta": {"tool_calls": [
            {"function": {"name": "f", "arguments": "{\"b\":1, \"a\":2, \"a\":3}"}},
        ]}}], "n": 1.5});
        assert_eq!(read(&[body.as_bytes()]), Ok(vec![chunk(written)]));
    }

    fn read(pieces: &[&[u8]]) -> Result<Vec<Frame>, Unreadable> {
        let mut decoder = Decoder::new(1000);
        let mut frames = Vec::new();
        for piece in pieces {
            frames.extend(decoder.push(piece)?);
        }
        frames.extend(decoder.finish()?);
        Ok(frames)
    }

    fn chunk(value: Value) -> Frame {
        Frame::Chunk(value)
    }

    #[test]
    fn every_way_to_write_events_gives_the_same_values() {
        let whole = vec![chunk(json!({"a": "é"})), chunk(json!({"b": [1]})), Frame::Done];
        for text in [
            "data: {\"a\":\"é\"}\n\ndata: {\"b\":[1]}\n\ndata: [DONE]\n\n",
            "data:{\"a\":\"é\"}\r\n\r\ndata:{\"b\":[1]}\r\n\r\ndata:[DONE]\r\n\r\n",
            "data: {\"a\":\"é\"}\r\rdata: {\"b\":[1]}\r\rdata: [DONE]\r\r",
            "\u{feff}\n: waiting\n\ndata: {\"a\":\"é\"}\n\n: waiting\n\nid: 7\nevent: message\ndata: {\"b\":\ndata: [1]}\n\ndata: [DONE]",
            "data: {\"a\":\"é\"}\ndata: {\"b\":[1]}\ndata: [DONE]\n",
            "data: ping\n\ndata: {\"a\":\"é\"}\n\ndata\n\ndata: {\"b\":[1]}\n\nretry: 10\ndata: [DONE]\n\n",
        ] {
            let bytes = text.as_bytes();
            for cut in 0..=bytes.len() {
                let (left, right) = bytes.split_at(cut);
                assert_eq!(read(&[left, right]), Ok(whole.clone()), "{text:?} cut at {cut}");
            }
            let single: Vec<&[u8]> = bytes.chunks(1).collect();
            assert_eq!(read(&single), Ok(whole.clone()), "{text:?} byte by byte");
        }
    }

    #[test]
    fn a_plain_body_is_read_at_its_end() {
        assert_eq!(read(&[b" {\"a\"", b":1}\n"]), Ok(vec![chunk(json!({"a": 1}))]));
        assert_eq!(
            read(&[b"{\"a\":1}\n{\"b\":2}\n"]),
            Ok(vec![chunk(json!({"a": 1})), chunk(json!({"b": 2}))])
        );
        assert_eq!(read(&[]), Ok(Vec::new()));
        assert_eq!(read(&[b"<html>busy</html>"]), Ok(Vec::new()));
    }

    #[test]
    fn an_error_event_is_an_error_whatever_it_holds() {
        assert_eq!(
            read(&[b"event: error\ndata: {\"message\":\"full\"}\n\n"]),
            Ok(vec![chunk(json!({"error": {"message": "full"}}))])
        );
    }

    #[test]
    fn json_that_breaks_is_said_to_and_not_passed_over() {
        assert_eq!(read(&[b"data: {\"a\":\n\n"]), Err(Unreadable::Broken));
        assert_eq!(read(&[b"{\"a\":"]), Err(Unreadable::Broken));
    }

    #[test]
    fn neither_a_line_nor_an_event_nor_a_body_grows_without_end() {
        let long = vec![b'x'; 1001];
        assert_eq!(read(&[b"data: ", &long]), Err(Unreadable::TooLarge));
        assert_eq!(read(&[b"{", &long]), Err(Unreadable::TooLarge));
        assert_eq!(read(&[&[b' '; 1001]]), Err(Unreadable::TooLarge));
        let lines = b"data: 0123456789\n".repeat(100);
        assert_eq!(read(&[&lines]), Err(Unreadable::TooLarge));
    }
}
