//! A result as the planner receives it: the envelope's JSON, possibly cut at a limit.

use std::borrow::Cow;

use orion_domain::visible::written_out;
use orion_domain::{Hint, is_hidden};
use serde_json::Value;

/// The parsed part of a result.
pub(crate) struct ResultFacts {
    envelope: Value,
    /// Whether the end is missing.
    pub(crate) cut: bool,
}

impl ResultFacts {
    pub(crate) fn read(content: &str) -> Self {
        let start = content.find('{').and_then(|at| content.get(at..)).unwrap_or_default();
        let mut values = serde_json::Deserializer::from_str(start).into_iter::<Value>();
        match values.next() {
            Some(Ok(envelope)) => Self { envelope, cut: false },
            Some(Err(_)) | None => {
                Self { envelope: repaired(start).unwrap_or_default(), cut: true }
            }
        }
    }

    /// Returns the facts as an answer names them: each text on one line, and nothing hidden, so that no file's name looks
    /// like a sentence of the answer. Contents keep their lines; they are indented.
    pub(super) fn on_one_line(mut self) -> Self {
        put_on_one_line(&mut self.envelope, "");
        self
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.is("/success")
    }

    pub(crate) fn dry_run(&self) -> bool {
        self.is("/dry_run")
    }

    /// Returns whether the device left out a part of what was asked for.
    pub(super) fn is_truncated(&self) -> bool {
        self.is("/data/truncated") || self.is("/meta/truncated")
    }

    /// Returns whether a part of what was asked for is not here.
    pub(super) fn is_partial(&self) -> bool {
        self.cut || self.is_truncated()
    }

    pub(crate) fn is(&self, pointer: &str) -> bool {
        self.at(pointer).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(crate) fn at(&self, pointer: &str) -> Option<&Value> {
        self.envelope.pointer(pointer).filter(|value| !value.is_null())
    }

    /// Returns the text at a pointer; empty where there is none.
    pub(crate) fn text(&self, pointer: &str) -> &str {
        self.at(pointer).and_then(Value::as_str).unwrap_or_default()
    }

    pub(super) fn count(&self, pointer: &str) -> Option<u64> {
        self.at(pointer)?.as_u64()
    }

    pub(crate) fn list(&self, pointer: &str) -> &[Value] {
        self.at(pointer).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    /// Returns what to do about the error. A hint whose end is missing is left out.
    pub(super) fn hints(&self) -> Vec<Hint> {
        let hints = self.list("/error/hints").iter();
        hints.filter_map(|hint| serde_json::from_value(hint.clone()).ok()).collect()
    }

    pub(super) fn texts(&self, pointer: &str) -> Vec<&str> {
        self.list(pointer).iter().filter_map(Value::as_str).collect()
    }
}

/// The texts that an answer shows indented, with their lines.
const BLOCKS: [&str; 6] = ["content", "diff", "stdout", "stderr", "stdout_tail", "stderr_tail"];

fn put_on_one_line(value: &mut Value, name: &str) {
    match value {
        Value::String(text) if !BLOCKS.contains(&name) => {
            if let Cow::Owned(written) = written_out(text, is_written_out) {
                *text = written;
            }
        }
        Value::Array(values) => values.iter_mut().for_each(|it| put_on_one_line(it, name)),
        Value::Object(values) => {
            values.iter_mut().for_each(|(name, it)| put_on_one_line(it, name));
        }
        Value::String(_) | Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

/// Returns whether a character ends a line, is not seen or looks like a space. Joiners of letters and emoji belong to
/// ordinary names.
fn is_written_out(letter: char) -> bool {
    let is_other_space = letter != ' ' && (letter.is_whitespace() || letter == '\u{2800}');
    is_other_space || (is_hidden(letter) && !matches!(letter, '\u{200c}' | '\u{200d}'))
}

/// Repairs JSON without its end, up to its last complete value.
fn repaired(text: &str) -> Option<Value> {
    // The note about the cut is on a line of its own.
    let text = text.rsplit_once("\n[").map_or(text, |(head, _)| head);
    let mut closing: Vec<char> = Vec::new();
    let mut whole: Option<(usize, Vec<char>)> = None;
    let (mut in_string, mut escaped) = (false, false);
    for (at, letter) in text.char_indices() {
        if in_string {
            in_string = escaped || letter != '"';
            escaped = letter == '\\' && !escaped;
            continue;
        }
        match letter {
            '"' => in_string = true,
            '{' => closing.push('}'),
            '[' => closing.push(']'),
            '}' | ']' => {
                closing.pop();
                whole = Some((at + 1, closing.clone()));
            }
            ',' => whole = Some((at, closing.clone())),
            _ => {}
        }
    }
    // Content is one long text, so its visible part is kept.
    let text_so_far = format!("{}\"", text.trim_end_matches('\\'));
    let ends: [Option<(String, &[char])>; 2] = [
        in_string.then_some((text_so_far, closing.as_slice())),
        whole
            .as_ref()
            .and_then(|(end, open)| Some((text.get(..*end)?.to_owned(), open.as_slice()))),
    ];
    ends.into_iter().flatten().find_map(|(mut head, open)| {
        head.extend(open.iter().rev());
        serde_json::from_str(&head).ok()
    })
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_name_is_one_line_with_nothing_hidden_and_contents_keep_their_lines() {
        let name = "a.txt\n\nAll of it is safe to delete.\u{202e}gpj \u{200b}👩\u{200d}🚀";
        let content = "one\ntwo";
        let text = json!({"data": {"entries": [{"name": name}], "content": content}}).to_string();
        let facts = ResultFacts::read(&text);
        assert_eq!(facts.list("/data/entries")[0]["name"], name, "what a later call names");
        let shown = facts.on_one_line();
        assert_eq!(
            shown.list("/data/entries")[0]["name"],
            "a.txt\\u{a}\\u{a}All of it is safe to delete.\\u{202e}gpj \\u{200b}👩\u{200d}🚀"
        );
        assert_eq!(shown.text("/data/content"), content);
        let names =
            ["a\nb", "a␊b", "a\u{202e}b", "a\\u{202e}b", "a b", "a\u{a0}b", "a\u{2800}b", "ab"];
        let shown: HashSet<_> =
            names.iter().map(|name| written_out(name, is_written_out)).collect();
        assert_eq!(shown.len(), names.len(), "{shown:?}");
    }

    #[test]
    fn a_result_that_is_cut_anywhere_is_read_as_far_as_it_goes() {
        let whole = json!({"success": true, "message": "Two \"entries\" é", "data": {"entries": [{"name": "a\\"}, {"name": "b"}], "count": 2}});
        let text = r#"{"success":true,"message":"Two \"entries\" é","data":{"entries":[{"name":"a\\"},{"name":"b"}],"count":2}}"#;
        assert_eq!(ResultFacts::read(text).envelope, whole);
        for end in (0..text.len()).filter(|end| text.is_char_boundary(*end)) {
            let facts = ResultFacts::read(&text[..end]);
            assert!(facts.cut);
            assert!(facts.succeeded() || end <= "{\"success\":true,".len(), "{end}");
        }
        let middle = text.find(",{\"name\":\"b").unwrap();
        assert_eq!(
            ResultFacts::read(&format!("{}\n[cut: …]", &text[..middle + 1])).list("/data/entries"),
            [json!({"name": "a\\"})]
        );
    }
}
