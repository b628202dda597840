//! Converts the pieces of an output to calls, problems and the remaining prose.

use std::ops::Range;

use super::measure::BreakReason;
use super::problem::short;
use super::scan::{Block, Piece};
use super::{ExtractProblem, Extraction, MAX_CALLS, MAX_PROBLEMS, shape};
use crate::json::{self, JsonError};

/// Reads the pieces that were found in `output`.
pub(super) fn read(output: &str, pieces: Vec<Piece>) -> Extraction {
    let mut reader = Reader {
        output,
        found: Extraction::default(),
        cuts: Vec::new(),
        open: Vec::new(),
        broken_at: None,
        stopped: false,
    };
    let mut prose_from = 0;
    for piece in pieces {
        let range = match &piece {
            Piece::Json { range, .. } | Piece::Open { range, .. } | Piece::Close { range, .. } => {
                range.clone()
            }
            Piece::Thought { range, .. } => range.clone(),
            // Broken JSON stays in the prose.
            Piece::Broken { start, .. } => *start..*start,
        };
        let prose = output.get(prose_from..range.start).unwrap_or_default();
        if !prose.trim().is_empty() {
            reader.prose_stays();
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
    found: Extraction,
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
                self.open.iter_mut().for_each(|block| block.values += 1);
                let calls =
                    if self.stopped { 0 } else { self.json(&range, names.call || tagged, tagged) };
                if calls == 0 {
                    return self.prose_stays();
                }
                self.open.iter_mut().for_each(|block| block.calls += calls);
                self.cuts.push(range);
            }
            Piece::Broken { start, end, call } => {
                self.open.iter_mut().for_each(|block| block.values += 1);
                self.prose_stays();
                if call {
                    let at = end.at;
                    self.stop(match end.why {
                        BreakReason::Unfinished => ExtractProblem::Unfinished { start, at },
                        BreakReason::TooDeep => ExtractProblem::TooDeep { start, at },
                        BreakReason::Expected(why) => {
                            ExtractProblem::Broken { start, at, why: why.to_owned() }
                        }
                    });
                } else {
                    self.broken_at.get_or_insert(end.at);
                }
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
        }
    }

    /// Reads the calls of one complete value and returns their number.
    fn json(&mut self, range: &Range<usize>, call: bool, tagged: bool) -> usize {
        let start = range.start;
        let value = match json::parse(self.output.get(range.clone()).unwrap_or_default()) {
            Ok(value) => value,
            Err(JsonError::Duplicate(key)) => {
                if call {
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
                if call {
                    self.stop(ExtractProblem::Broken { start, at, why });
                } else {
                    self.broken_at.get_or_insert(at);
                }
                return 0;
            }
        };
        let Some(results) = shape::calls(value, start, tagged) else {
            if tagged {
                self.problem(ExtractProblem::NotACall { start });
            }
            return 0;
        };
        if let Some(broken_at) = self.broken_at {
            self.stop(ExtractProblem::AfterBroken { start, broken_at });
            return 0;
        }
        let before = self.found.calls.len();
        for result in results {
            match result {
                Ok(_) if self.found.calls.len() == MAX_CALLS => {
                    self.stop(ExtractProblem::TooManyCalls { limit: MAX_CALLS, at: start });
                    break;
                }
                Ok(call) => self.found.calls.push(call),
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
        self.stopped |= self.found.problems.len() == MAX_PROBLEMS;
    }

    fn stop(&mut self, problem: ExtractProblem) {
        if !self.stopped {
            self.problem(problem);
        }
        self.stopped = true;
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
        for cut in self.cuts {
            gap = join(&mut text, gap, self.output.get(from..cut.start).unwrap_or_default());
            from = cut.end;
        }
        join(&mut text, gap, self.output.get(from..).unwrap_or_default());
        let alone = text.is_empty();
        self.found.calls.iter_mut().for_each(|call| call.recovered |= !alone);
        Extraction { text, ..self.found }
    }
}

/// The white space around a cut, of which one separator is kept.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Space,
    Line,
}

impl Gap {
    fn of(white: &str) -> Self {
        if white.contains('\n') {
            Self::Line
        } else if white.is_empty() {
            Self::None
        } else {
            Self::Space
        }
    }
}

/// Appends the prose after a cut. `gap` is the white space before the cut; the result is that before the
/// next one.
fn join(text: &mut String, gap: Gap, prose: &str) -> Gap {
    let words = prose.trim();
    if words.is_empty() {
        return gap.max(Gap::of(prose));
    }
    let leading = prose.len() - prose.trim_start().len();
    let trailing = prose.trim_end().len();
    match gap.max(Gap::of(prose.get(..leading).unwrap_or_default())) {
        Gap::Line if !text.is_empty() => text.push('\n'),
        Gap::Space if !text.is_empty() => text.push(' '),
        Gap::Line | Gap::Space | Gap::None => {}
    }
    text.push_str(words);
    Gap::of(prose.get(trailing..).unwrap_or_default())
}
