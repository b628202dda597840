//! Finds the relevant pieces in one pass over the output: JSON values that may be calls, broken JSON,
//! fences, call tags and reasoning. Everything between the pieces is prose.
//!
//! The pass never looks for calls inside a broken value that was JSON so far: that text may be the
//! content of an argument.

use std::ops::Range;

use super::measure::{Break, BreakReason, EXPECTED_NAME, Names, measure};

/// One piece of the output, by its byte range.
pub(super) enum Piece {
    /// A complete value that may be a call.
    Json { range: Range<usize>, names: Names, tagged: bool },
    /// A value that stops being JSON. `call` is true if it was meant as a call.
    Broken { start: usize, end: Break, call: bool },
    /// The opening marker of a fence or a call tag.
    Open { range: Range<usize>, block: Block },
    /// The closing marker.
    Close { range: Range<usize>, block: Block },
    /// Reasoning, with its tags.
    Thought { range: Range<usize>, finished: bool },
}

/// A delimiter that marks its content as calls.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Block {
    Fence,
    Tag,
}

/// The pieces in order, and the number of bytes read to find them, repeated reads included.
pub(super) struct Scan {
    pub(super) pieces: Vec<Piece>,
    pub(super) examined: usize,
}

const TAGS: [(&str, &str); 3] = [
    ("<tool_call>", "</tool_call>"),
    ("<tool_calls>", "</tool_calls>"),
    ("<function_call>", "</function_call>"),
];
const THOUGHTS: [(&str, &str); 2] = [("<think>", "</think>"), ("<thinking>", "</thinking>")];

/// The fence languages that are searched for calls; other fences hold code.
const CALL_LANGUAGES: [&str; 9] =
    ["", "json", "jsonl", "ndjson", "tool", "tool_call", "tool_calls", "tool_use", "function_call"];

/// How many bytes after an invalid first name are searched for signs of a call.
const LOOK_AHEAD_BYTES: usize = 128;

/// Finds the pieces of `text`.
pub(super) fn scan(text: &str) -> Scan {
    let mut scanner = Scanner {
        text,
        at: 0,
        scan: Scan { pieces: Vec::new(), examined: 0 },
        fence: None,
        tagged: false,
        thought: false,
        broken: false,
        broken_call: false,
    };
    while let Some(byte) = text.as_bytes().get(scanner.at) {
        scanner.scan.examined += 1;
        match byte {
            b'{' | b'[' => scanner.value(),
            b'<' => scanner.tag(),
            b'`' => scanner.fence(),
            _ => scanner.at += 1,
        }
    }
    scanner.scan
}

struct Scanner<'a> {
    text: &'a str,
    at: usize,
    scan: Scan,
    /// The number of backticks that opened the current fence. `None` outside a fence.
    fence: Option<usize>,
    tagged: bool,
    /// Whether reasoning was seen.
    thought: bool,
    /// Whether a broken value was seen, and one meant as a call. Only the first of each matters.
    broken: bool,
    broken_call: bool,
}

impl Scanner<'_> {
    fn rest(&self) -> &str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn value(&mut self) {
        let start = self.at;
        let measured = measure(self.text.as_bytes(), start);
        let end = match measured.end {
            Ok(end) => {
                self.scan.examined += end - start;
                if measured.names.candidate || self.tagged {
                    let range = start..end;
                    self.scan.pieces.push(Piece::Json {
                        range,
                        names: measured.names,
                        tagged: self.tagged,
                    });
                }
                self.at = end;
                return;
            }
            Err(end) => end,
        };
        self.scan.examined += end.at - start;
        let deep = end.why == BreakReason::TooDeep;
        let call = measured.names.call || deep || self.tagged || self.meant_as_call(&end);
        // A brace in prose is skipped; a value that was JSON so far is kept whole, and so is a list.
        let prose = !measured.names.any && !call && self.text.as_bytes().get(start) == Some(&b'{');
        self.at = if prose { start + 1 } else { end.at };
        if (call && !self.broken_call) || (measured.names.any && !self.broken) {
            self.broken = true;
            self.broken_call |= call;
            self.scan.pieces.push(Piece::Broken { start, end, call });
        }
    }

    /// Returns whether a value that breaks at a name was meant as a call: `{'tool': …}`, `{tool: …}`.
    fn meant_as_call(&mut self, end: &Break) -> bool {
        const QUOTES: [char; 6] = ['"', '\'', '`', '“', '”', '‘'];
        if end.why != BreakReason::Expected(EXPECTED_NAME) {
            return false;
        }
        let rest = self.text.get(end.at..).unwrap_or_default();
        let rest = rest.get(..rest.floor_char_boundary(LOOK_AHEAD_BYTES)).unwrap_or_default();
        let word = rest.trim_start_matches(QUOTES);
        let length = word.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_');
        let (word, rest) = word.split_at(length.unwrap_or(word.len()));
        if !rest.trim_start_matches(QUOTES).trim_start().starts_with(':') {
            return false;
        }
        match word {
            "tool" | "tool_calls" | "tool_call" | "function_call" => true,
            "name" | "function" | "type" => {
                rest.contains("arguments") || rest.contains("parameters")
            }
            _ => false,
        }
    }

    fn tag(&mut self) {
        let start = self.at;
        for (open, close) in TAGS {
            if self.rest().starts_with(open) {
                self.at += open.len();
                self.tagged = true;
                return self
                    .scan
                    .pieces
                    .push(Piece::Open { range: start..self.at, block: Block::Tag });
            }
            if self.rest().starts_with(close) {
                self.at += close.len();
                self.tagged = false;
                return self
                    .scan
                    .pieces
                    .push(Piece::Close { range: start..self.at, block: Block::Tag });
            }
        }
        for (open, close) in THOUGHTS {
            if self.rest().starts_with(open) {
                let length = self.rest().find(close).map(|found| found + close.len());
                self.at += length.unwrap_or(self.rest().len());
                self.scan.examined += self.at - start;
                self.thought = true;
                let finished = length.is_some();
                return self.scan.pieces.push(Piece::Thought { range: start..self.at, finished });
            }
            if self.rest().starts_with(close) && !self.thought && self.ends_thought(close) {
                // Some servers put the opening tag into the prompt, so the output starts inside the
                // reasoning.
                self.at += close.len();
                self.scan.pieces.clear();
                self.scan.pieces.push(Piece::Thought { range: 0..self.at, finished: true });
                (self.fence, self.tagged, self.thought) = (None, false, true);
                (self.broken, self.broken_call) = (false, false);
                return;
            }
        }
        self.at += 1;
    }

    /// Returns whether a closing tag without an opening one ends reasoning. After broken JSON the tag
    /// may be an argument's text, so there it must be on a line of its own.
    fn ends_thought(&self, close: &str) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default().trim_end_matches([' ', '\t']);
        let after = self
            .rest()
            .get(close.len()..)
            .unwrap_or_default()
            .trim_start_matches([' ', '\t', '\r']);
        !self.broken || (before.ends_with('\n') && (after.is_empty() || after.starts_with('\n')))
    }

    fn fence(&mut self) {
        let start = self.at;
        let ticks = self.rest().len() - self.rest().trim_start_matches('`').len();
        self.at += ticks;
        match self.fence {
            _ if ticks < 3 => {}
            Some(opened) if ticks >= opened => {
                self.fence = None;
                self.scan.pieces.push(Piece::Close { range: start..self.at, block: Block::Fence });
            }
            Some(_) => {}
            None => self.open_fence(start, ticks),
        }
    }

    fn open_fence(&mut self, start: usize, ticks: usize) {
        let part = |letter: char| {
            letter.is_ascii_alphanumeric() || matches!(letter, '_' | '-' | '+' | '#' | '.')
        };
        let language_bytes = self.rest().len() - self.rest().trim_start_matches(part).len();
        let language = self.rest().get(..language_bytes).unwrap_or_default().to_ascii_lowercase();
        let inside = self.at + language_bytes;
        if !CALL_LANGUAGES.contains(&language.as_str())
            && !self.is_one_value(inside, ticks)
            && let Some(end) = self.closing_fence(inside, ticks)
        {
            self.at = end;
            return;
        }
        self.at = inside;
        self.fence = Some(ticks);
        self.scan.pieces.push(Piece::Open { range: start..inside, block: Block::Fence });
    }

    /// Returns whether a fence of code holds one JSON value and nothing else.
    fn is_one_value(&mut self, inside: usize, ticks: usize) -> bool {
        let content = self.text.get(inside..).unwrap_or_default();
        let start = inside + (content.len() - content.trim_start().len());
        if !matches!(self.text.as_bytes().get(start), Some(b'{' | b'[')) {
            return false;
        }
        let end = match measure(self.text.as_bytes(), start).end {
            Ok(end) => end,
            Err(end) => {
                self.scan.examined += end.at - start;
                return false;
            }
        };
        self.scan.examined += end - start;
        let rest = self.text.get(end..).unwrap_or_default().trim_start();
        rest.len() - rest.trim_start_matches('`').len() >= ticks
    }

    /// Returns the byte after the fence that closes one of `ticks` backticks.
    fn closing_fence(&mut self, inside: usize, ticks: usize) -> Option<usize> {
        let mut run = 0;
        let bytes = self.text.as_bytes().get(inside..)?;
        for (offset, byte) in bytes.iter().enumerate() {
            self.scan.examined += 1;
            run = if *byte == b'`' { run + 1 } else { 0 };
            if run == ticks {
                let more =
                    bytes.get(offset + 1..)?.iter().take_while(|byte| **byte == b'`').count();
                return Some(inside + offset + 1 + more);
            }
        }
        None
    }
}
