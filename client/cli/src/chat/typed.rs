//! What stands in the line editor, and how Tab completes it. The editor itself does not say what was typed when Ctrl-C ends a line.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rustyline::completion::Completer;
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;
use rustyline::{Context, Helper};

use super::slash::{Names, completions};

/// Whether something stands in the line, and the names to complete. The editor asks for a hint whenever the line
/// changes.
#[derive(Debug, Clone, Default)]
pub(super) struct Typed {
    is_typed: Arc<AtomicBool>,
    names: Arc<Names>,
}

impl Typed {
    /// Completes these names.
    pub(super) fn completing(names: Names) -> Self {
        Self { names: Arc::new(names), ..Self::default() }
    }

    /// Begins a new line.
    pub(super) fn clear(&self) {
        self.is_typed.store(false, Ordering::Relaxed);
    }

    /// Returns whether nothing stands in the line.
    pub(super) fn is_empty(&self) -> bool {
        !self.is_typed.load(Ordering::Relaxed)
    }
}

impl Hinter for Typed {
    type Hint = String;

    fn hint(&self, line: &str, _pos: usize, _ctx: &Context<'_>) -> Option<String> {
        self.is_typed.store(!line.is_empty(), Ordering::Relaxed);
        None
    }
}

impl Completer for Typed {
    type Candidate = String;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _ctx: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<String>)> {
        Ok(completions(line.get(..pos).unwrap_or_default(), &self.names))
    }
}

impl Highlighter for Typed {}
impl Validator for Typed {}
impl Helper for Typed {}
