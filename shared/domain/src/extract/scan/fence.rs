//! Fences of Markdown: those that may hold calls are searched, those of code are not.

use super::{Block, Piece, Scanner};
use crate::extract::forms::code;
use crate::extract::measure::measure;

/// The fence languages that are searched for calls; other fences hold code.
const CALL_LANGUAGES: [&str; 10] = [
    "",
    "json",
    "jsonl",
    "ndjson",
    "tool",
    "tool_call",
    "tool_calls",
    "tool_use",
    "function_call",
    TOOL_CODE,
];
/// The language in which Gemma writes calls as Python.
const TOOL_CODE: &str = "tool_code";

impl Scanner<'_> {
    pub(super) fn fence(&mut self) {
        let start = self.at;
        let ticks = self.rest().len() - self.rest().trim_start_matches('`').len();
        self.at += ticks;
        match self.fence {
            _ if ticks < 3 => {}
            Some(opened) if ticks >= opened => {
                self.fence = None;
                self.push(Piece::Close { range: start..self.at, block: Block::Fence });
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
        if !self.everywhere
            && !CALL_LANGUAGES.contains(&language.as_str())
            && !self.is_one_value(inside, ticks)
            && let Some(end) = self.closing_fence(inside, ticks)
        {
            self.at = end;
            return;
        }
        self.at = inside;
        self.fence = Some(ticks);
        self.push(Piece::Open { range: start..inside, block: Block::Fence });
        if language == TOOL_CODE
            && let Some(parsed) = code(self.text, inside)
        {
            self.form(inside, parsed.end, parsed.readings);
        }
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
