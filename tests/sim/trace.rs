//! The events of a story, line by line, without anything that differs from run to run.

use std::fmt::Write as _;
use std::time::Duration;

/// The trace of a story.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    lines: Vec<String>,
}

impl Trace {
    pub(crate) fn event(&mut self, at: Duration, what: &str) {
        self.lines.push(format!("{:4} {:9.3} s  {what}", self.lines.len(), at.as_secs_f64()));
    }

    /// Appends the outcome of the last event.
    pub(crate) fn outcome(&mut self, what: &str) {
        if let Some(line) = self.lines.last_mut() {
            write!(line, " | {what}").unwrap();
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Returns the first line in which two traces differ, of each.
    pub(crate) fn difference(&self, other: &Self) -> Option<(String, String)> {
        let longest = self.lines.len().max(other.lines.len());
        let line = |trace: &Self, at| trace.lines.get(at).cloned().unwrap_or_default();
        (0..longest).map(|at| (line(self, at), line(other, at))).find(|(a, b)| a != b)
    }

    pub(crate) fn text(&self) -> String {
        self.lines.join("\n")
    }
}
