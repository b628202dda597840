//! What raises the risk of doing a call again, beyond what its arguments tell.

use orion_domain::RiskRaise;

use super::{Back, UndoError, UndoStep};
use crate::changes::record::Step;
use crate::changes::{FileStamp, Target};
use crate::tools::Context;

impl UndoStep<'_> {
    /// A call that is done again puts a program in its place, or adds to one, as it did the first time.
    ///
    /// # Errors
    /// A person has to see that first.
    pub(super) fn raise_where_done_again(
        self,
        context: &Context<'_>,
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
        let mut prints = self.noted.kept.iter().chain(&now).chain(moved);
        if prints.any(FileStamp::is_executable) {
            let raised = context.risk.raise(RiskRaise::StartsPrograms, &target.path);
            return raised.map_err(UndoError::Failed);
        }
        Ok(())
    }
}
