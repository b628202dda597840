//! Converts the pieces of an output to calls, problems and the remaining prose.

mod text;

use std::ops::Range;

use super::context::Before;
use super::forms::{Reading, is_broken};
use super::measure::{Break, BreakReason};
use super::problem::short;
use super::scan::{Block, Piece};
use super::{
    ExtractProblem, Extraction, MAX_CALLS, MAX_OCCURRENCES, MAX_PROBLEMS, NotMeant, SetAside, shape,
};
use crate::json::{self, JsonError};
use text::{Gap, join, unread};

/// Reads the pieces that were found in `output`. `everywhere` is whether calls count wherever they stand, also
/// behind what is broken.
pub(super) fn read(output: &str, pieces: Vec<Piece>, everywhere: bool) -> Extraction {
    let mut reader = Reader {
        output,
        everywhere,
        most_calls: if everywhere { MAX_OCCURRENCES } else { MAX_CALLS },
        found: Extraction::default(),
        before: Before::default(),
        cuts: Vec::new(),
        open: Vec::new(),
        broken_at: None,
        stopped: false,
    };
    let mut prose_from = 0;
    for piece in pieces {
        let range = match &piece {
            Piece::Json { range, .. }
            | Piece::Form { range, .. }
            | Piece::Open { range, .. }
            | Piece::Close { range, .. }
            | Piece::Thought { range, .. }
            | Piece::Token { range }
            | Piece::Aside { range, .. } => range.clone(),
            // Broken JSON stays in the prose.
            Piece::Broken { start, .. } => *start..*start,
        };
        let prose = output.get(prose_from..range.start).unwrap_or_default();
        if reader.separates(prose) {
            reader.cuts.push(prose_from..range.start);
        } else {
            if !prose.trim().is_empty() {
                reader.prose_stays();
            }
            reader.before.prose(prose);
        }
        prose_from = range.end;
        reader.piece(piece);
    }
    if !output.get(prose_from..).unwrap_or_default().trim().is_empty() {
        reader.prose_stays();
    }
    reader.leave_blocks(0);
    reader.finish()
}

struct Reader<'a> {
    output: &'a str,
    everywhere: bool,
    most_calls: usize,
    found: Extraction,
    /// The prose before the current piece.
    before: Before,
    /// The ranges that do not belong to the prose.
    cuts: Vec<Range<usize>>,
    /// The open blocks, outermost first.
    open: Vec<OpenBlock>,
    /// Where JSON broke that was not recognised as a call. `None` until one breaks.
    broken_at: Option<usize>,
    /// Whether no further calls are read.
    stopped: bool,
}

/// A fence or a tag, and what was found in it so far.
struct OpenBlock {
    block: Block,
    marker: Range<usize>,
    values: usize,
    calls: usize,
    /// Whether the block holds something that stays in the prose.
    prose: bool,
}

impl Reader<'_> {
    fn piece(&mut self, piece: Piece) {
        match piece {
            Piece::Json { range, names, tagged } => {
                let calls =
                    if self.stopped { 0 } else { self.json(&range, names.call || tagged, tagged) };
                self.taken(range, calls);
            }
            Piece::Form { range, readings } => {
                let calls = if self.stopped { 0 } else { self.form(&range, readings) };
                self.taken(range, calls);
            }
            Piece::Broken { start, end, call } => {
                self.open.iter_mut().for_each(|block| block.values += 1);
                self.prose_stays();
                self.broken(start, &end, call);
            }
            Piece::Open { range, block } => {
                self.leave(block);
                self.open.push(OpenBlock {
                    block,
                    marker: range,
                    values: 0,
                    calls: 0,
                    prose: false,
                });
            }
            Piece::Close { range, block } => match self.leave(block) {
                Some(OpenBlock { calls: 1.., prose: false, .. }) => self.cuts.push(range),
                Some(OpenBlock { block: Block::Tag, values: 0, marker, .. }) => {
                    self.problem(ExtractProblem::NotACall { start: marker.start });
                    self.prose_stays();
                }
                Some(_) | None => self.prose_stays(),
            },
            Piece::Thought { range, finished } => {
                if !finished {
                    self.problem(ExtractProblem::UnfinishedThinking { start: range.start });
                }
                self.cuts.push(range);
            }
            Piece::Token { range } => self.cuts.push(range),
            Piece::Aside { range, why } => {
                self.prose_stays();
                self.aside(&range, why);
            }
        }
    }

    /// Returns whether a text only separates two calls between the tokens of a model.
    fn separates(&self, prose: &str) -> bool {
        let in_tag = self.open.last().is_some_and(|it| it.block == Block::Tag && it.calls > 0);
        in_tag && matches!(prose.trim(), ";" | ",")
    }

    /// Cuts a piece with this number of calls out of the prose; one without stays.
    fn taken(&mut self, range: Range<usize>, calls: usize) {
        self.open.iter_mut().for_each(|block| block.values += 1);
        if calls == 0 {
            return self.prose_stays();
        }
        self.open.iter_mut().for_each(|block| block.calls += calls);
        self.cuts.push(range);
    }

    fn broken(&mut self, start: usize, end: &Break, call: bool) {
        let at = end.at;
        if !call || self.is_set_aside(&(start..at)) {
            self.broken_at.get_or_insert(at);
            return;
        }
        self.stop(match end.why {
            BreakReason::Unfinished => ExtractProblem::Unfinished { start, at },
            BreakReason::TooDeep => ExtractProblem::TooDeep { start, at },
            BreakReason::Expected(why) => ExtractProblem::Broken { start, at, why: why.to_owned() },
        });
    }

    /// Returns whether what looks like a call is none by the text around it, and says so.
    fn is_set_aside(&mut self, range: &Range<usize>) -> bool {
        if self.everywhere {
            return false;
        }
        let fenced = self.open.iter().any(|open| open.block == Block::Fence);
        let after = self.output.get(range.end..).unwrap_or_default();
        let why = self.before.judge(after, fenced);
        why.is_some_and(|why| {
            self.set_aside(range.start, why);
            true
        })
    }

    fn set_aside(&mut self, start: usize, why: NotMeant) {
        self.found.set_aside.push(SetAside { start, why });
        self.stopped |= self.found.set_aside.len() == MAX_CALLS;
    }

    /// Says of text that is not the model's own that a call is in it.
    fn aside(&mut self, range: &Range<usize>, why: NotMeant) {
        const SIGNS: [&str; 9] = [
            "\"tool\"",
            "\"name\"",
            "to=functions.",
            "<function=",
            "<invoke ",
            "<tool_call>",
            "<|tool_call",
            "<｜tool",
            "[TOOL_CALLS]",
        ];
        let text = self.output.get(range.clone()).unwrap_or_default();
        if !self.stopped && SIGNS.iter().any(|sign| text.contains(sign)) {
            self.set_aside(range.start, why);
        }
    }

    /// Reads calls in another form than JSON and returns their number.
    fn form(&mut self, range: &Range<usize>, readings: Vec<Reading>) -> usize {
        let broken = readings.iter().any(is_broken);
        if self.is_set_aside(range) {
            if broken {
                self.broken_at.get_or_insert(range.end);
            }
            return 0;
        }
        self.take(readings, range.start)
    }

    /// Reads the calls of one complete value and returns their number.
    fn json(&mut self, range: &Range<usize>, call: bool, tagged: bool) -> usize {
        let start = range.start;
        let value = match json::parse(self.output.get(range.clone()).unwrap_or_default()) {
            Ok(value) => value,
            Err(JsonError::Duplicate(key)) => {
                if call && !self.is_set_aside(range) {
                    self.problem(ExtractProblem::DuplicateKey { start, key: short(&key) });
                }
                return 0;
            }
            // Only the parser of objects returns this error.
            Err(JsonError::NotAnObject) => return 0,
            Err(JsonError::TooDeep) => {
                self.stop(ExtractProblem::TooDeep { start, at: start });
                return 0;
            }
            Err(JsonError::Syntax { at, why }) => {
                let at = start + at;
                if call && !self.is_set_aside(range) {
                    self.stop(ExtractProblem::Broken { start, at, why });
                } else {
                    self.broken_at.get_or_insert(at);
                }
                return 0;
            }
        };
        let (is_record, resembles) = (shape::is_record(&value), shape::resembles(&value));
        let Some(results) = shape::calls(value, start, tagged) else {
            if (tagged || resembles) && !self.is_set_aside(range) {
                self.problem(ExtractProblem::NotACall { start });
            }
            return 0;
        };
        if is_record && !self.everywhere {
            self.set_aside(start, NotMeant::Echoed);
            return 0;
        }
        if self.is_set_aside(range) {
            return 0;
        }
        self.take(results, start)
    }

    /// Takes the calls of one piece and returns their number.
    fn take(&mut self, results: Vec<Reading>, start: usize) -> usize {
        if let Some(broken_at) = self.broken_at.filter(|_| !self.everywhere) {
            self.stop(ExtractProblem::AfterBroken { start, broken_at });
            return 0;
        }
        let before = self.found.calls.len();
        for result in results {
            match result {
                Ok(_) if self.found.calls.len() == self.most_calls => {
                    self.stop(ExtractProblem::TooManyCalls { limit: self.most_calls, at: start });
                    break;
                }
                Ok(call) => self.found.calls.push(call),
                Err(problem @ ExtractProblem::NotUnderstood { .. }) => self.stop(problem),
                Err(problem) => self.problem(problem),
            }
            if self.stopped {
                break;
            }
        }
        self.found.calls.len() - before
    }

    fn problem(&mut self, problem: ExtractProblem) {
        if self.found.problems.len() < MAX_PROBLEMS {
            self.found.problems.push(problem);
        }
        self.stopped |= self.found.problems.len() == MAX_PROBLEMS && !self.everywhere;
    }

    fn stop(&mut self, problem: ExtractProblem) {
        if !self.stopped {
            self.problem(problem);
        }
        self.stopped = !self.everywhere || self.found.calls.len() == self.most_calls;
    }

    fn prose_stays(&mut self) {
        self.open.iter_mut().for_each(|block| block.prose = true);
    }

    /// Closes the innermost block of this kind, with the unclosed ones inside it.
    fn leave(&mut self, block: Block) -> Option<OpenBlock> {
        let index = self.open.iter().rposition(|open| open.block == block)?;
        self.leave_blocks(index + 1);
        let left = self.open.pop()?;
        self.cut_marker(&left);
        Some(left)
    }

    /// Closes all but the `keep` outermost blocks.
    fn leave_blocks(&mut self, keep: usize) {
        while self.open.len() > keep {
            if let Some(left) = self.open.pop() {
                self.cut_marker(&left);
            }
        }
    }

    /// Cuts the marker of a block that held only calls.
    fn cut_marker(&mut self, left: &OpenBlock) {
        if left.calls > 0 && !left.prose {
            self.cuts.push(left.marker.clone());
        } else {
            self.prose_stays();
        }
    }

    fn finish(mut self) -> Extraction {
        self.cuts.sort_by_key(|cut| cut.start);
        let (mut text, mut gap, mut from) = (String::new(), Gap::None, 0);
        for cut in &self.cuts {
            gap = join(&mut text, gap, self.output.get(from..cut.start).unwrap_or_default());
            from = cut.end;
        }
        join(&mut text, gap, self.output.get(from..).unwrap_or_default());
        let alone = text.is_empty();
        let found = &self.found;
        let is_plain =
            found.calls.is_empty() && found.problems.is_empty() && found.set_aside.is_empty();
        if is_plain && let Some(problem) = unread(&text, self.output) {
            self.problem(problem);
        }
        self.found.calls.iter_mut().for_each(|call| call.recovered |= !alone);
        Extraction { text, ..self.found }
    }
}
