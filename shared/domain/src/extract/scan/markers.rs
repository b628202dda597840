//! What the pass does at each marker, and at the start of the answer.

use super::{Block, Piece, Scanner};
use crate::extract::NotMeant;
use crate::extract::forms::{
    Message, Parsed, bare, deepseek, gemma, glm, kimi, message, mistral, xml,
};
use crate::extract::marker::{Meaning, marker, own_turn};

impl Scanner<'_> {
    pub(super) fn angle(&mut self) {
        match marker(self.rest()) {
            Some((token, _)) if self.is_in_ticks(token.len()) => self.at += token.len(),
            Some((token, meaning)) => self.marked(token, meaning),
            None => self.at += 1,
        }
    }

    /// Returns whether a marker stands alone as code within a sentence, which speaks of it.
    fn is_in_ticks(&self, length: usize) -> bool {
        let before = self.text.get(..self.at).unwrap_or_default();
        let behind = self.rest().get(length..).unwrap_or_default();
        before.ends_with('`') && !before.ends_with("```") && behind.starts_with('`')
    }

    pub(super) fn marked(&mut self, token: &'static str, meaning: Meaning) {
        let start = self.at;
        let end = start + token.len();
        if self.everywhere && hides_calls(meaning) {
            self.at = end;
            return;
        }
        match meaning {
            Meaning::Open => self.open(end),
            Meaning::OpenOrGlm => {
                self.open(end);
                if let Some(Parsed { end: behind, readings }) = glm(self.text, end) {
                    self.form(end, behind, readings);
                }
            }
            Meaning::Python => {
                self.open(end);
                self.from = Some(end);
            }
            Meaning::Mistral => match mistral(self.text, end) {
                Some(parsed) => self.parsed(start, Some(parsed)),
                None => self.open(end),
            },
            Meaning::Close => {
                self.at = end;
                self.tagged = false;
                self.push(Piece::Close { range: start..end, block: Block::Tag });
            }
            Meaning::Xml(form) => self.parsed(start, xml(self.text, start, form)),
            Meaning::Gemma(close) => self.parsed(start, gemma(self.text, end, close)),
            Meaning::Kimi => self.parsed(start, kimi(self.text, start)),
            Meaning::DeepSeek => self.parsed(start, deepseek(self.text, start)),
            Meaning::Harmony => self.harmony(end),
            Meaning::Thought(close) => {
                let finished = self.skip_to(end, close);
                self.thought = true;
                self.push(Piece::Thought { range: start..self.at, finished });
                self.restart();
            }
            Meaning::ThoughtEnd if !self.thought && self.ends_thought(token) => {
                // Some servers put the opening tag into the prompt, so the output starts inside the
                // reasoning.
                self.at = end;
                self.scan.pieces.clear();
                self.push(Piece::Thought { range: 0..end, finished: true });
                (self.fence, self.tagged, self.thought) = (None, false, true);
                (self.broken, self.broken_call) = (false, false);
                self.from = Some(end);
            }
            Meaning::ThoughtEnd => self.at += 1,
            Meaning::Echo(close) => self.aside(end, close, NotMeant::Echoed),
            Meaning::Comment(close) => self.aside(end, close, NotMeant::Commented),
            Meaning::Turn => match own_turn(self.text.get(end..).unwrap_or_default()) {
                Some(length) => self.token(end + length),
                None => self.foreign(end),
            },
            Meaning::Foreign => self.foreign(end),
            Meaning::Token => self.token(end),
            Meaning::Last if self.text.get(end..).unwrap_or_default().trim().is_empty() => {
                self.token(end);
            }
            Meaning::Last => self.at += 1,
        }
    }

    fn open(&mut self, end: usize) {
        let start = self.at;
        self.at = end;
        self.tagged = true;
        self.push(Piece::Open { range: start..end, block: Block::Tag });
    }

    fn parsed(&mut self, start: usize, parsed: Option<Parsed>) {
        match parsed {
            Some(Parsed { end, readings }) => self.form(start, end, readings),
            None => self.at += 1,
        }
    }

    fn token(&mut self, end: usize) {
        let start = self.at;
        self.at = end;
        self.tagged = false;
        self.push(Piece::Token { range: start..end });
        self.restart();
    }

    fn foreign(&mut self, end: usize) {
        let start = self.at;
        if self.text.get(end..).unwrap_or_default().trim().is_empty() {
            return self.token(end);
        }
        self.at = self.text.len();
        self.scan.examined += self.at - start;
        self.push(Piece::Aside { range: start..self.at, why: NotMeant::Echoed });
    }

    fn aside(&mut self, end: usize, close: &'static str, why: NotMeant) {
        let start = self.at;
        self.skip_to(end, close);
        self.push(Piece::Aside { range: start..self.at, why });
    }

    /// Goes behind the next `close`, or to the end of the text. Returns whether there is one.
    fn skip_to(&mut self, from: usize, close: &'static str) -> bool {
        let start = self.at;
        let rest = self.text.get(from..).unwrap_or_default();
        let found = rest.find(close);
        self.at = found.map_or(self.text.len(), |found| from + found + close.len());
        self.scan.examined += self.at - start;
        found.is_some()
    }

    fn harmony(&mut self, end: usize) {
        let start = self.at;
        match message(self.text, start) {
            Some(Message::Analysis { .. } | Message::Foreign) if self.everywhere => self.at = end,
            Some(Message::Analysis { end, finished }) => {
                self.at = end;
                self.scan.examined += end - start;
                self.thought = true;
                self.push(Piece::Thought { range: start..end, finished });
                self.restart();
            }
            Some(Message::Call(parsed)) => self.parsed(start, Some(parsed)),
            Some(Message::Words { from }) => self.token(from),
            Some(Message::Foreign) => self.foreign(end),
            None => self.token(end),
        }
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

    /// The answer may start here, if nothing but reasoning and tokens was before.
    fn restart(&mut self) {
        if self.from.is_some() {
            self.from = Some(self.at);
        }
    }

    /// Reads what only the start of an answer can be: Python calls without brackets, and the word that Phi puts
    /// before its list.
    pub(super) fn whole(&mut self) {
        let Some(from) = self.from else { return };
        let rest = self.text.get(from..).unwrap_or_default();
        let start = from + (rest.len() - rest.trim_start().len());
        self.from = (self.at <= start).then_some(start);
        if self.at != start {
            return;
        }
        let rest = self.rest();
        if !rest.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_') {
            return;
        }
        self.from = None;
        if let Some(list) = rest.strip_prefix("functools")
            && list.trim_start().starts_with('[')
        {
            return self.open(start + "functools".len());
        }
        match bare(self.text, start) {
            Ok(Parsed { end, readings }) => self.form(start, end, readings),
            Err(reached) => {
                self.scan.examined += reached - start;
                self.python_read = reached;
            }
        }
    }
}

/// Returns whether no calls are sought in what follows a marker.
const fn hides_calls(meaning: Meaning) -> bool {
    match meaning {
        Meaning::Thought(_)
        | Meaning::ThoughtEnd
        | Meaning::Echo(_)
        | Meaning::Comment(_)
        | Meaning::Turn
        | Meaning::Foreign => true,
        Meaning::Open
        | Meaning::Close
        | Meaning::Python
        | Meaning::OpenOrGlm
        | Meaning::Xml(_)
        | Meaning::Gemma(_)
        | Meaning::Kimi
        | Meaning::DeepSeek
        | Meaning::Mistral
        | Meaning::Harmony
        | Meaning::Token
        | Meaning::Last => false,
    }
}
