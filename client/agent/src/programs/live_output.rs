//! Passes on what the programs of a call print while they run, in pieces of bounded size, so many a second. What
//! nobody takes in time is left out: a program never waits for those who watch it.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use crate::call::TakeOutput;

/// The largest piece, in bytes.
const MAX_PIECE: usize = 16 * 1024;
/// How many bytes wait. The oldest of more are left out.
const MAX_WAITING: usize = 64 * 1024;
/// The shortest time between two looks at what waits.
const INTERVAL: Duration = Duration::from_millis(100);

/// The output of one call that is passed on.
pub struct LiveOutput<'a> {
    take: &'a TakeOutput<'a>,
    state: RefCell<State>,
}

#[derive(Debug, Default)]
struct State {
    /// The position of the first waiting byte.
    offset: u64,
    waiting: VecDeque<u8>,
    passed_at: Option<Instant>,
}

impl fmt::Debug for LiveOutput<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LiveOutput").field("state", &self.state).finish_non_exhaustive()
    }
}

impl<'a> LiveOutput<'a> {
    /// Creates the output of a call that printed nothing yet.
    #[must_use]
    pub fn new(take: &'a TakeOutput<'a>) -> Self {
        Self { take, state: RefCell::default() }
    }

    /// Adds output. Of what waits, only the newest is kept.
    pub(super) fn push(&self, bytes: &[u8]) {
        let mut state = self.state.borrow_mut();
        state.waiting.extend(bytes);
        let excess = state.waiting.len().saturating_sub(MAX_WAITING);
        state.waiting.drain(..excess);
        state.offset = state.offset.saturating_add(excess as u64);
    }

    /// Passes on what waits, unless that was done just before.
    pub(super) fn pass_on(&self) {
        let is_early = self.state.borrow().passed_at.is_some_and(|at| at.elapsed() < INTERVAL);
        if !is_early {
            self.pass_on_now();
        }
    }

    /// Passes on what waits.
    pub(super) fn pass_on_now(&self) {
        let mut state = self.state.borrow_mut();
        while !state.waiting.is_empty() {
            let piece: Vec<u8> = state.waiting.iter().take(MAX_PIECE).copied().collect();
            let length = piece.len();
            state.passed_at = Some(Instant::now());
            if !(self.take)(state.offset, piece) {
                return;
            }
            state.waiting.drain(..length);
            state.offset = state.offset.saturating_add(length as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn pieces_follow_each_other_and_what_is_not_taken_waits() {
        let (taken, takes) = (RefCell::new(Vec::new()), Cell::new(true));
        let take = |offset: u64, data: Vec<u8>| {
            if takes.get() {
                taken.borrow_mut().push((offset, String::from_utf8(data).unwrap()));
            }
            takes.get()
        };
        let output = LiveOutput::new(&take);
        output.push(b"one ");
        output.pass_on();
        output.push(b"two ");
        output.pass_on();
        assert_eq!(taken.borrow().len(), 1, "two pieces at once");
        takes.set(false);
        output.pass_on_now();
        takes.set(true);
        output.push(b"three");
        output.pass_on_now();
        output.pass_on_now();
        let pieces = [(0, "one ".to_owned()), (4, "two three".to_owned())];
        assert_eq!(*taken.borrow(), pieces);
    }

    #[test]
    fn of_output_without_end_the_newest_is_passed_on_and_its_position_says_what_is_left_out() {
        let taken = RefCell::new(Vec::new());
        let take = |offset: u64, data: Vec<u8>| {
            taken.borrow_mut().push((offset, data.len()));
            true
        };
        let output = LiveOutput::new(&take);
        for _ in 0..10 {
            output.push(&[b'x'; MAX_PIECE]);
        }
        output.pass_on();
        let newest = (6..10).map(|number| (number * MAX_PIECE as u64, MAX_PIECE));
        assert_eq!(*taken.borrow(), newest.collect::<Vec<_>>());
    }
}
