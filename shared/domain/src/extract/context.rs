//! Judges by the text around a call whether it is meant: a sentence may deny it, quote it, show it as an
//! example or tell of it.
//!
//! The judgement is by words of English and Dutch, some of German, French and Spanish. A call that is the
//! whole answer has no text around it; for one in prose, what is doubtful is not meant.

mod cues;

use serde::Serialize;

/// Why something that is written like a call is not meant as one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum NotMeant {
    /// The sentence denies it.
    Negated,
    /// The sentence asks whether to make it, or on what condition.
    Hypothetical,
    /// The sentence explains or shows how calls are written.
    Example,
    /// It stands in quotation marks, in code within a sentence, or in a quoted line.
    Quoted,
    /// It stands in a comment.
    Commented,
    /// It is what a tool, a person or a file said, or the record of a call that was made.
    Echoed,
}

impl NotMeant {
    /// Returns the reason in words, for a sentence that starts with the call.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Negated => "the text around it denies it",
            Self::Hypothetical => "the text around it asks whether to make it",
            Self::Example => "the text around it shows it as an example",
            Self::Quoted => "it is quoted",
            Self::Commented => "it is in a comment",
            Self::Echoed => "it is told, as the words of somebody else or a call that was made",
        }
    }
}

/// How many bytes of a sentence are judged.
const MAX_SENTENCE_BYTES: usize = 512;

/// The prose before a place, as far as it matters there.
#[derive(Debug, Default)]
pub(super) struct Before {
    /// The current sentence, without what is no prose.
    sentence: String,
    /// The sentence before it.
    previous: String,
    /// The marks of this paragraph that are open: straight quotes and backticks by parity, others by depth.
    straight: bool,
    tick: bool,
    depth: u32,
    /// The last character of the prose.
    last: Option<char>,
    /// Until when the text is somebody else's.
    speech: Speech,
    /// Whether the line so far is a comment.
    comment: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Speech {
    #[default]
    No,
    /// Up to the next empty line.
    Paragraph,
    /// To the end: the text plays another turn.
    Turn,
}

impl Before {
    /// Takes the prose between two pieces.
    pub(super) fn prose(&mut self, prose: &str) {
        if prose.is_empty() {
            return;
        }
        let is_blank = prose.trim().is_empty();
        let mut lines = prose.split('\n');
        let starts = self.last.is_none_or(|last| last == '\n');
        self.line(lines.next().unwrap_or_default(), starts);
        let mut lines = lines.peekable();
        while let Some(line) = lines.next() {
            // The last line goes on with what follows the prose.
            let is_empty = line.trim().is_empty() && lines.peek().is_some();
            self.end_of_line(line, is_empty, is_blank);
            self.line(line, true);
        }
        self.last = prose.chars().next_back();
    }

    fn line(&mut self, line: &str, starts: bool) {
        let words = line.trim_start();
        if starts {
            self.comment = cues::is_comment(words);
            self.speech = match cues::label(words) {
                Some(true) => Speech::Turn,
                Some(false) if self.speech == Speech::No => Speech::Paragraph,
                Some(false) | None => self.speech,
            };
        }
        for letter in line.chars() {
            match letter {
                '"' => self.straight = !self.straight,
                '`' => self.tick = !self.tick,
                '“' | '«' | '„' => self.depth += 1,
                '”' | '»' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
        }
        let kept = match cues::end_of_sentence(line) {
            Some(end) => {
                self.sentence.push_str(line.get(..end).unwrap_or_default());
                self.end_sentence();
                line.get(end..).unwrap_or_default()
            }
            None => line,
        };
        self.sentence.push_str(kept);
        if self.sentence.len() > MAX_SENTENCE_BYTES {
            let from = self.sentence.ceil_char_boundary(self.sentence.len() - MAX_SENTENCE_BYTES);
            self.sentence.drain(..from);
        }
    }

    /// The line ends, and `next` is the next one. Between two calls, white space ends nothing.
    fn end_of_line(&mut self, next: &str, is_empty: bool, is_blank: bool) {
        if is_empty && !is_blank {
            (self.straight, self.tick, self.depth) = (false, false, 0);
        }
        if is_empty && self.speech == Speech::Paragraph {
            self.speech = Speech::No;
        }
        let said = self.sentence.trim();
        let goes_on = said.is_empty()
            || said.ends_with([':', ','])
            || said.starts_with('#')
            || cues::is_item(next)
            || is_blank;
        if !goes_on {
            self.end_sentence();
        }
        self.sentence.push('\n');
    }

    /// Keeps the end of a sentence or of several.
    fn end_sentence(&mut self) {
        let whole = std::mem::take(&mut self.sentence);
        let from = whole.ceil_char_boundary(whole.len().saturating_sub(MAX_SENTENCE_BYTES));
        let whole = whole.get(from..).unwrap_or_default().trim_end_matches(['.', '!', ' ']);
        let last = cues::end_of_sentence(whole).unwrap_or_default();
        whole.get(last..).unwrap_or_default().trim().clone_into(&mut self.previous);
    }

    /// Returns why a call is not meant that follows this prose and stands before `after`. `fenced` is whether
    /// it stands in a fence.
    pub(super) fn judge(&self, after: &str, fenced: bool) -> Option<NotMeant> {
        if self.comment {
            return Some(NotMeant::Commented);
        }
        if self.speech != Speech::No {
            return Some(NotMeant::Echoed);
        }
        let closes = |mark: char| cues::paragraph(after).contains(mark);
        let adjacent = self.last == Some('\'') && after.starts_with('\'');
        let quoted = (self.straight && closes('"'))
            || (self.depth > 0 && (closes('”') || closes('»') || closes('“')))
            || adjacent;
        if quoted && !fenced {
            return Some(NotMeant::Quoted);
        }
        let in_code = self.tick && closes('`') && !fenced;
        if in_code && !self.sentence.trim().trim_matches('`').is_empty() {
            return Some(NotMeant::Quoted);
        }
        if self.sentence.trim().is_empty() && cues::refuses(&self.previous) {
            return Some(NotMeant::Negated);
        }
        cues::before(&self.sentence).or_else(|| cues::after(after, fenced))
    }
}
