//! What became of the attempts, counted.

use std::fmt;

use orion_tests::{Outside, plain_target};

/// What became of the attempts with one tool.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Refused as outside, or as no path.
    pub(super) refused: usize,
    /// Taken literally, inside: done, or failed for what is there.
    pub(super) inside: usize,
    /// Told or touched something outside, or was let through to there.
    pub(super) escapes: Vec<String>,
}

impl Tally {
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

/// All of them.
#[derive(Debug, Default)]
pub(super) struct Tallies(Vec<(String, String, Tally)>);

impl Tallies {
    pub(super) fn add(&mut self, list: &str, tool: &str, tally: Tally) {
        self.0.push((list.to_owned(), tool.to_owned(), tally));
    }

    pub(super) fn escapes(&self) -> Vec<String> {
        self.0.iter().flat_map(|(_, _, tally)| tally.escapes.clone()).collect()
    }
}

impl fmt::Display for Tallies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (mut refused, mut inside, mut escapes) = (0, 0, 0);
        for (list, tool, tally) in &self.0 {
            refused += tally.refused;
            inside += tally.inside;
            escapes += tally.escapes.len();
            writeln!(
                f,
                "{list:<18} {tool:<22} refused {:>6}  inside {:>6}  escapes {}",
                tally.refused,
                tally.inside,
                tally.escapes.len()
            )?;
        }
        write!(f, "{:<41} refused {refused:>6}  inside {inside:>6}  escapes {escapes}", "together")
    }
}
