//! Raises the risk of redoing a call beyond what its arguments show.

use orion_domain::RiskRaise;

use super::{Back, UndoError, UndoStep};
use crate::call::FileContext;
use crate::entry::{FileStamp, Target};
use crate::record::Step;

impl UndoStep<'_> {
    /// Raises the risk if a redone call places a program or appends to one, as the original call did.
    ///
    /// # Errors
    /// `APPROVAL_REQUIRED` if neither the policy nor an approval allows that.
    pub(super) fn raise_where_done_again(
        self,
        context: &FileContext<'_>,
        target: &Target,
        back: &Back,
    ) -> Result<(), UndoError> {
        if !context.undo.is_some_and(|undo| undo.redo) {
            return Ok(());
        }
        let now = match back {
            Back::Restore { over } => over.clone(),
            Back::Lengthen { .. } => target.stamp()?,
            Back::RemoveFolder
            | Back::MakeFolder
            | Back::Discard { .. }
            | Back::Move { .. }
            | Back::Shorten { .. } => None,
        };
        let moved = match &self.noted.step {
            Step::Moved { what, .. } => Some(what),
            Step::Placed { .. }
            | Step::Deleted { .. }
            | Step::Removed { .. }
            | Step::Extended { .. }
            | Step::Shortened { .. } => None,
        };
        let mut stamps = self.noted.kept.iter().chain(&now).chain(moved);
        if stamps.any(FileStamp::is_executable) {
            let raised = context.risk.raise(RiskRaise::StartsPrograms, &target.path);
            return raised.map_err(UndoError::Failed);
        }
        Ok(())
    }
}
