//! What became of the attempts, counted.

use std::fmt;

use orion_tests::{Outside, plain_target};

/// What became of the attempts with one tool.
#[derive(Debug, Default, Clone)]
pub(super) struct Tally {
    /// Refused as outside, or as no path.
    pub(super) refused: usize,
    /// Taken literally, inside: done, or failed for what is there.
    pub(super) inside: usize,
    /// Told or touched something outside, or was let through to there.
    pub(super) escapes: Vec<String>,
}

impl Tally {
    pub(super) fn add(&mut self, other: Self) {
        self.refused += other.refused;
        self.inside += other.inside;
        self.escapes.extend(other.escapes);
    }

    /// Judges one answer by its code and everything that it says.
    pub(super) fn judge(
        &mut self,
        outside: &Outside,
        tool: &str,
        text: &str,
        code: &str,
        result: &str,
    ) {
        let refused = matches!(code, "PATH_NOT_ALLOWED" | "INVALID_PATH");
        let shown: String = text.chars().take(200).collect();
        if let Some(mark) = outside.seen_in(result) {
            self.escapes.push(format!("{tool} {shown:?} told {mark}"));
        } else if refused {
            self.refused += 1;
        } else if plain_target(outside.root(), text).starts_with(outside.root()) {
            self.inside += 1;
        } else {
            self.escapes.push(format!("{tool} {shown:?} was let through to outside: {code:?}"));
        }
    }
}

/// What became of the attempts with one tool and one list.
#[derive(Debug)]
pub(super) struct Row {
    list: String,
    tool: String,
    tally: Tally,
}

impl Row {
    /// Enough of them to look for the cause while the rest is tried.
    pub(super) fn first_escapes(&self) -> impl Iterator<Item = &str> {
        self.tally.escapes.iter().take(5).map(String::as_str)
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { list, tool, tally } = self;
        let Tally { refused, inside, escapes } = tally;
        let escapes = escapes.len();
        write!(
            f,
            "{list:<18} {tool:<22} refused {refused:>6}  inside {inside:>6}  escapes {escapes}"
        )
    }
}

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Tallies(Vec<Row>);

impl Tallies {
    pub(super) fn add(&mut self, list: &str, tool: &str, tally: Tally) -> &Row {
        let at = self.0.len();
        self.0.push(Row { list: list.to_owned(), tool: tool.to_owned(), tally });
        &self.0[at]
    }

    pub(super) fn escapes(&self) -> Vec<String> {
        self.0.iter().flat_map(|row| row.tally.escapes.clone()).collect()
    }
}

impl fmt::Display for Tallies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut together = Tally::default();
        for row in &self.0 {
            together.add(row.tally.clone());
            writeln!(f, "{row}")?;
        }
        let (list, tool) = ("together".to_owned(), String::new());
        write!(f, "{}", Row { list, tool, tally: together })
    }
}
