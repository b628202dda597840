//! Finds the relevant pieces in one pass over the output: JSON values that may be calls, calls in other forms,
//! broken calls, fences, tags, reasoning, and text that is not the model's own. Everything between is prose.
//!
//! The pass never looks for calls inside a broken value that was JSON so far: that text may be the
//! content of an argument.

mod fence;
mod markers;

use std::ops::Range;

use super::NotMeant;
use super::forms::{Reading, is_broken, list, starts_list};
use super::marker::marker;
use super::measure::{Break, BreakReason, EXPECTED_NAME, Names, measure};

/// One piece of the output, by its byte range.
pub(super) enum Piece {
    /// A complete value that may be a call.
    Json { range: Range<usize>, names: Names, tagged: bool },
    /// Calls in another form, or why they could not be read.
    Form { range: Range<usize>, readings: Vec<Reading> },
    /// A value that stops being JSON. `call` is true if it was meant as a call.
    Broken { start: usize, end: Break, call: bool },
    /// The opening marker of a fence or a call tag.
    Open { range: Range<usize>, block: Block },
    /// The closing marker.
    Close { range: Range<usize>, block: Block },
    /// Reasoning, with its tags.
    Thought { range: Range<usize>, finished: bool },
    /// A token that says nothing to a person.
    Token { range: Range<usize> },
    /// Text that is not the model's own. It stays in the prose and holds no call.
    Aside { range: Range<usize>, why: NotMeant },
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

/// How many bytes after an invalid first name are searched for signs of a call.
const LOOK_AHEAD_BYTES: usize = 128;

/// Finds the pieces of `text`. `everywhere` is whether calls are also sought in reasoning, comments, quoted lines,
/// code and the words of others.
pub(super) fn scan(text: &str, everywhere: bool) -> Scan {
    let mut scanner = Scanner {
        text,
        everywhere,
        at: 0,
        scan: Scan { pieces: Vec::new(), examined: 0 },
        fence: None,
        tagged: false,
        thought: false,
        broken: false,
        broken_call: false,
        python_read: 0,
        from: Some(0),
    };
    scanner.whole();
    while let Some(byte) = text.as_bytes().get(scanner.at) {
        scanner.scan.examined += 1;
        match byte {
            b'{' => scanner.value(),
            b'[' => scanner.bracket(),
            b'<' => scanner.angle(),
            b'`' => scanner.fence(),
            b'>' => scanner.block_quote(),
            _ => scanner.at += 1,
        }
        scanner.whole();
    }
    scanner.scan
}

struct Scanner<'a> {
    text: &'a str,
    everywhere: bool,
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
    /// Up to where the text was read for Python calls in vain.
    python_read: usize,
    /// Where the answer starts, behind reasoning and tokens. `None` once it is known what it starts with.
    from: Option<usize>,
}

impl<'a> Scanner<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn push(&mut self, piece: Piece) {
        self.scan.pieces.push(piece);
    }

    /// Adds what was read in one of the forms, and goes on behind it.
    fn form(&mut self, start: usize, end: usize, readings: Vec<Reading>) {
        let end = end.max(self.at);
        self.scan.examined += end - start;
        self.at = end;
        self.push(Piece::Form { range: start..end, readings });
    }

    fn bracket(&mut self) {
        if let Some((token, meaning)) = marker(self.rest()) {
            return self.marked(token, meaning);
        }
        let start = self.at;
        let before = self.text.get(..start).and_then(|text| text.chars().next_back());
        let is_index = before.is_some_and(|it| it.is_alphanumeric() || "_])".contains(it));
        if is_index || start < self.python_read || !starts_list(self.text, start) {
            return self.value();
        }
        let parsed = list(self.text, start);
        let broken = parsed.readings.iter().any(is_broken);
        let is_code = self.is_in_expression(start, parsed.end);
        if self.tagged || (!is_code && (!broken || self.from == Some(start))) {
            return self.form(start, parsed.end, parsed.readings);
        }
        self.scan.examined += parsed.end - start;
        self.python_read = parsed.end;
        self.at = start + 1;
    }

    fn value(&mut self) {
        let start = self.at;
        let measured = measure(self.text.as_bytes(), start);
        let end = match measured.end {
            Ok(end) => {
                self.scan.examined += end - start;
                if measured.names.candidate || self.tagged {
                    let (range, names) = (start..end, measured.names);
                    self.push(Piece::Json { range, names, tagged: self.tagged });
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
            self.push(Piece::Broken { start, end, call });
        }
    }

    /// Returns whether a value that breaks at a name was meant as a call: `{'tool': …}`, `{tool: …}`.
    fn meant_as_call(&self, end: &Break) -> bool {
        const QUOTES: [char; 7] = ['"', '\'', '`', '“', '”', '‘', '\\'];
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

    /// Returns whether an operator stands before or behind a list: then it is part of some code.
    fn is_in_expression(&self, start: usize, end: usize) -> bool {
        const OPERATORS: [char; 13] =
            ['=', '+', '-', '*', '/', '%', '|', '&', '<', '>', '(', '[', ','];
        let before = self.text.get(..start).unwrap_or_default().trim_end_matches(' ');
        let behind = self.text.get(end..).unwrap_or_default().trim_start_matches(' ');
        let is_tag = before.ends_with('>') || behind.starts_with('<');
        !is_tag && (before.ends_with(OPERATORS) || behind.starts_with(OPERATORS))
    }

    /// Skips lines that are quoted as Markdown does it: up to an empty line or a fence.
    fn block_quote(&mut self) {
        let start = self.at;
        let before = self.text.get(..start).unwrap_or_default().trim_end_matches([' ', '\t']);
        let starts_line = before.is_empty() || before.ends_with('\n');
        if self.tagged || self.everywhere || !starts_line {
            self.at += 1;
            return;
        }
        for line in self.rest().split_inclusive('\n') {
            if line.trim().is_empty() || line.trim_start().starts_with("```") {
                break;
            }
            self.at += line.len();
        }
        self.scan.examined += self.at - start;
        self.push(Piece::Aside { range: start..self.at, why: NotMeant::Quoted });
    }
}
