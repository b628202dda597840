//! What a file tool may use besides what every tool may: the trash, the risk gate, and what was evaluated and
//! shown before the call.

use std::cell::Cell;
use std::fmt;
use std::ops::Deref;

use orion_domain::{Touches, Undo};

use super::{Context, ExpectedState, RiskGate};
use crate::trash::Trash;

/// The context of one call of a file tool.
#[derive(Clone, Copy)]
pub struct FileContext<'a> {
    /// What every tool may use.
    pub common: Context<'a>,
    /// Keeps replaced and deleted content, so that the call can be undone.
    pub trash: &'a Trash,
    /// Records what raises the call's risk. Stops the call unless the policy or an approval allows the raise.
    pub risk: &'a RiskGate,
    /// Set if the trash has no space for what the call replaces or deletes.
    pub is_final: &'a Cell<bool>,
    /// What the call touches, as evaluated.
    pub touches: &'a Touches,
    /// What the call undoes or redoes, as evaluated. `None` if the call is not an undo.
    pub undo: Option<&'a Undo>,
    /// What the preview observed, compared when the call acts. `None` if nothing is compared.
    pub expected: Option<ExpectedState<'a>>,
}

impl<'a> Deref for FileContext<'a> {
    type Target = Context<'a>;

    fn deref(&self) -> &Context<'a> {
        &self.common
    }
}

impl fmt::Debug for FileContext<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FileContext").field("common", &self.common).finish_non_exhaustive()
    }
}
