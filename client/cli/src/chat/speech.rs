//! The words of an answer as they arrive, on standard output.

use std::io::IsTerminal as _;

use super::markdown::Markdown;
use crate::failure::Failure;
use crate::output::Output;
use crate::text;

/// Writes the model's text to standard output, for people only; programs get the whole answer.
#[derive(Debug)]
pub(super) struct Speech<'a> {
    out: &'a Output,
    /// Whether there were words.
    pub(super) printed: bool,
    at_line_start: bool,
    /// Renders markdown on a terminal. None elsewhere, where the text stays as it is.
    markdown: Option<Markdown>,
}

impl<'a> Speech<'a> {
    pub(super) fn new(out: &'a Output) -> Self {
        Self { out, printed: false, at_line_start: true, markdown: None }
    }

    /// Says whether the words to come are markdown. The planner's are names and contents as they are.
    pub(super) fn is_markdown(&mut self, is_markdown: bool) {
        let renders = is_markdown && std::io::stdout().is_terminal();
        self.markdown = renders.then(Markdown::default);
    }

    pub(super) fn say(&mut self, words: &str) -> Result<(), Failure> {
        if words.is_empty() || !self.out.is_for_people() {
            return Ok(());
        }
        let words = text::plain(words);
        self.printed = true;
        self.at_line_start = words.ends_with('\n');
        // Every control character of the model is gone by now; the styles are Orion's own.
        match &mut self.markdown {
            Some(markdown) => self.out.data(&markdown.push(&words)),
            None => self.out.data(&words),
        }
    }

    pub(super) fn end_line(&mut self) -> Result<(), Failure> {
        let rest = self.markdown.as_mut().map(Markdown::finish).unwrap_or_default();
        if !rest.is_empty() {
            self.out.data(&rest)?;
        }
        if self.at_line_start {
            return Ok(());
        }
        self.at_line_start = true;
        self.out.data("\n")
    }
}
