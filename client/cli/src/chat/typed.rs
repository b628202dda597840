//! What stands in the line editor. The editor itself does not say what was typed when Ctrl-C ends a line.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

/// Whether something stands in the line. The editor asks for a hint whenever the line changes.
#[derive(Debug, Clone, Default)]
pub(super) struct Typed(Arc<AtomicBool>);

impl Typed {
    /// Begins a new line.
    pub(super) fn clear(&self) {
        self.0.store(false, Ordering::Relaxed);
    }

    /// Returns whether nothing stands in the line.
    pub(super) fn is_empty(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

impl Hinter for Typed {
    type Hint = String;

    fn hint(&self, line: &str, _pos: usize, _ctx: &Context<'_>) -> Option<String> {
        self.0.store(!line.is_empty(), Ordering::Relaxed);
        None
    }
}

impl Completer for Typed {
    type Candidate = String;
}

impl Highlighter for Typed {}
impl Validator for Typed {}
impl Helper for Typed {}
