//! Compares a path with the preview in the step that acts. When a call first changes a path, the step must
//! find there what the preview observed; otherwise the step is reverted.

use cap_std::fs::Dir;
use orion_domain::observation::Kind;
use orion_domain::{Observation, ToolError};

use super::{Change, FileStamp, StepError, Target};
use crate::observe::{drifted, hold, hold_moved};

/// The stamp of a target right before a step, for content that only number and times identify. `None` if the
/// preview did not cover the target.
#[derive(Debug)]
pub(super) struct CheckedStamp(Option<FileStamp>);

impl Change<'_> {
    /// Returns what the preview observed of a target. `None` once this call has changed it.
    pub(super) fn shown(&self, target: &Target) -> Option<&Observation> {
        let is_changed = self.is_rolling_back || self.changed.contains(&target.path);
        self.context.expected.filter(|_| !is_changed)?.of(&target.path)
    }

    /// Refuses to fill a free name where the preview showed something.
    pub(super) fn hold_free(&self, target: &Target) -> Result<(), StepError> {
        match self.shown(target) {
            Some(before) if before.kind != Kind::Nothing => {
                let change = format!("it was {} and is nothing", before.kind.as_str());
                Err(drifted(&before.path, &change).into())
            }
            Some(_) | None => Ok(()),
        }
    }

    /// Refuses a target that differs from the preview. The caller must call [`Self::hold_moved`] after the
    /// step.
    pub(super) fn hold(&self, target: &Target) -> Result<CheckedStamp, StepError> {
        let Some(before) = self.shown(target) else { return Ok(CheckedStamp(None)) };
        let stamp = target.stamp()?;
        hold(before, target, self.context)?;
        Ok(CheckedStamp(stamp))
    }

    /// Refuses a file that was opened by name and is not the file that was compared.
    pub(super) fn hold_opened(
        &self,
        CheckedStamp(held): &CheckedStamp,
        target: &Target,
        opened: &FileStamp,
    ) -> Result<(), StepError> {
        let Some(before) = self.shown(target) else { return Ok(()) };
        // The comparison found the file by name, so the name is checked again.
        match (held, target.stamp()?) {
            (Some(held), Some(now)) if held.is_same(opened) && now.is_same(opened) => Ok(()),
            _ => Err(drifted(&before.path, "something else has its name").into()),
        }
    }

    /// Refuses what a step took from a target if it differs from the preview.
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
