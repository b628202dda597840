//! What a person was shown holds in the step that acts: the first time that a call changes a path, what
//! the step takes from there has to be what the preview observed, or it goes back.

use cap_std::fs::Dir;
use orion_domain::observation::Kind;
use orion_domain::{Observation, ToolError};

use super::{Change, FileStamp, StepError, Target};
use crate::tools::observe::{drifted, hold, hold_moved};

/// What was found at a target right before a step, for what is told apart by number and times alone.
#[derive(Debug)]
pub(super) struct CheckedStamp(Option<FileStamp>);

impl Change<'_> {
    /// What was shown of a target, until this call has changed it.
    pub(super) fn shown(&self, target: &Target) -> Option<&Observation> {
        let is_changed = self.is_rolling_back || self.changed.contains(&target.path);
        self.context.expected.filter(|_| !is_changed)?.of(&target.path)
    }

    /// Refuses to put something where something else was shown, which is gone by now.
    pub(super) fn hold_free(&self, target: &Target) -> Result<(), StepError> {
        match self.shown(target) {
            Some(before) if before.kind != Kind::Nothing => {
                let change = format!("it was {} and is nothing", before.kind.as_str());
                Err(drifted(&before.path, &change).into())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses to take what is not as it was shown. To be followed by [`Self::hold_moved`].
    pub(super) fn hold(&self, target: &Target) -> Result<CheckedStamp, StepError> {
        let Some(before) = self.shown(target) else { return Ok(CheckedStamp(None)) };
        let print = target.stamp()?;
        hold(before, target, self.context)?;
        Ok(CheckedStamp(print))
    }

    /// Refuses a file that was opened by its name and is not the one that was compared there.
    pub(super) fn hold_opened(
        &self,
        CheckedStamp(held): &CheckedStamp,
        target: &Target,
        opened: &FileStamp,
    ) -> Result<(), StepError> {
        let Some(before) = self.shown(target) else { return Ok(()) };
        // Looked at again, since what was compared was found by its name.
        match (held, target.stamp()?) {
            (Some(held), Some(now)) if held.is_same(opened) && now.is_same(opened) => Ok(()),
            _ => Err(drifted(&before.path, "something else has its name").into()),
        }
    }

    /// Refuses what a step took from a target, where it is not what was shown there.
    pub(super) fn hold_moved(
        &self,
        CheckedStamp(held): &CheckedStamp,
        target: &Target,
        (dir, name): (&Dir, &str),
    ) -> Result<(), ToolError> {
        let Some(before) = self.shown(target) else { return Ok(()) };
        hold_moved(before, target, (dir, name), self.context)?;
        let moved = target.moved_to(dir, name)?.stamp()?;
        match (held, moved) {
            (Some(held), Some(moved)) if held.is_same(&moved) => Ok(()),
            _ => Err(drifted(&before.path, "something else has its name")),
        }
    }
}
