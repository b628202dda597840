//! Messages of Harmony, the form of gpt-oss: a header with a channel and perhaps a recipient, then content.

use super::{Cursor, Parsed, plain, with_json};

/// What a header opens.
pub(in crate::extract) enum Message {
    /// Reasoning, up to this byte, and whether it has an end.
    Analysis { end: usize, finished: bool },
    /// A message to a tool.
    Call(Parsed),
    /// A message to the person, whose content starts at this byte.
    Words { from: usize },
    /// A message of somebody else.
    Foreign,
}

/// The maximum length of a header, in bytes.
const MAX_HEADER_BYTES: usize = 256;
const ENDS: [&str; 5] = ["<|end|>", "<|call|>", "<|return|>", "<|start|>", "<|channel|>"];

/// Reads the message whose header starts at `start` with `<|start|>` or `<|channel|>`. `None` where no header
/// is there.
pub(in crate::extract) fn message(text: &str, start: usize) -> Option<Message> {
    const CONTENT: &str = "<|message|>";
    let rest = text.get(start..)?;
    let most = rest.floor_char_boundary(MAX_HEADER_BYTES);
    let header = rest.get(..rest.get(..most)?.find(CONTENT)?)?;
    let (role, channel) = header.split_once("<|channel|>")?;
    let role = role.strip_prefix("<|start|>");
    if role.is_some_and(|role| !role.trim_start().starts_with("assistant")) {
        return Some(Message::Foreign);
    }
    let from = start + header.len() + CONTENT.len();
    fn recipient(part: &str) -> Option<&str> {
        let (_, to) = part.split_once("to=")?;
        to.split(|it: char| it.is_whitespace() || it == '<').next()
    }
    let to = role.and_then(recipient).or_else(|| recipient(channel));
    if channel.trim_start().starts_with("analysis") {
        let content = text.get(from..)?;
        return Some(match end_of(content) {
            // The next header is a message of its own.
            Some((at, "<|start|>" | "<|channel|>")) => {
                Message::Analysis { end: from + at, finished: true }
            }
            Some((at, token)) => Message::Analysis { end: from + at + token.len(), finished: true },
            None => Message::Analysis { end: text.len(), finished: false },
        });
    }
    let Some(to) = to else { return Some(Message::Words { from }) };
    Some(Message::Call(call(text, start, from, plain(to))))
}

/// Returns the first token that ends a message, and where it is.
fn end_of(content: &str) -> Option<(usize, &'static str)> {
    content.match_indices("<|").find_map(|(at, _)| {
        let rest = content.get(at..)?;
        Some((at, ENDS.into_iter().find(|token| rest.starts_with(token))?))
    })
}

fn call(text: &str, start: usize, from: usize, name: &str) -> Parsed {
    const FORM: &str = "<|channel|>commentary to=functions.NAME";
    let mut cursor = Cursor { text, at: from };
    cursor.skip_space();
    let json = match cursor.object() {
        Ok(json) => json,
        Err(at) => {
            return Parsed::broken(start, at, FORM, "the arguments are not one JSON object");
        }
    };
    cursor.skip_space();
    let ended = cursor.eat("<|call|>") || cursor.eat("<|end|>");
    let next = ENDS.iter().any(|token| cursor.rest().starts_with(token));
    if !ended && !next && !cursor.rest().is_empty() {
        return Parsed::broken(start, cursor.at, FORM, "<|call|> is missing");
    }
    Parsed::one(cursor.at, with_json(name, json, None, start))
}
