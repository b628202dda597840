//! Moves an entry to another path or into the trash.

use std::io::ErrorKind;

use super::contents::{TrashMethod, bring, find};
use super::swap::{exchange, rename_new, sync};
use super::{Change, FileStamp, Precondition, StepError, Target};
use crate::record::Step;

impl Change<'_> {
    /// Gives the entry at `from` the name of `to`.
    ///
    /// # Errors
    /// [`StepError`]; both are unchanged then.
    pub(crate) fn rename(
        &mut self,
        from: &Target,
        to: &Target,
        over: Precondition<'_>,
    ) -> Result<(), StepError> {
        let held = self.hold(from)?;
        let what = from.see()?;
        let old = to.stamp()?;
        match (&old, over) {
            (Some(_), Precondition::Nothing) => return Err(StepError::Taken(to.path.clone())),
            (Some(old), Precondition::AnyFile) if old.what != crate::roots::FileKind::File => {
                return Err(StepError::Changed(to.path.clone()));
            }
            (Some(old), Precondition::Unchanged(before)) if !before.is_same(old) => {
                return Err(StepError::Changed(to.path.clone()));
            }
            (None, Precondition::Unchanged(_)) => return Err(StepError::Changed(to.path.clone())),
            (Some(_) | None, _) => {}
        }
        let (at, over) = (to.spot(), old.clone());
        self.plan(from, Step::Moved { from: from.spot(), to: at, what: what.clone(), over })?;
        self.sync(from)?;
        match &old {
            Some(old) => self.rename_over(from, to, old)?,
            None => {
                self.hold_free(to)?;
                rename_new(&from.dir, &from.name, &to.dir, &to.name)
                    .map_err(|error| across(&error, from, to))?;
            }
        }
        sync(&to.dir);
        sync(&from.dir);
        let is_it = to.stamp()?.is_some_and(|now| (now.what, now.inode) == (what.what, what.inode));
        let refused = match self.hold_moved(&held, from, (&to.dir, &to.name)) {
            Ok(()) if is_it => None,
            Ok(()) => Some(StepError::Changed(from.path.clone())),
            Err(error) => Some(error.into()),
        };
        if let Some(refused) = refused {
            // Another entry had replaced the inspected one, so it goes back to its path.
            tracing::warn!(call = %self.call(), "what was moved is not what was looked at");
            rename_new(&to.dir, &to.name, &from.dir, &from.name)
                .map_err(|error| StepError::io(&error, from))?;
            return Err(refused);
        }
        self.done(old);
        Ok(())
    }

    fn rename_over(
        &mut self,
        from: &Target,
        to: &Target,
        old: &FileStamp,
    ) -> Result<(), StepError> {
        let failed = |error: &std::io::Error| across(error, from, to);
        let held = self.hold(to)?;
        if exchange(&from.dir, &from.name, &to.dir, &to.name).map_err(|error| failed(&error))? {
            let kept = match from.stamp()? {
                Some(swapped) if old.is_same(&swapped) => self
                    .hold_moved(&held, to, (&from.dir, &from.name))
                    .map_err(StepError::from)
                    .and_then(|()| self.keep(to, (&from.dir, &from.name), TrashMethod::Move)),
                Some(_) | None => Err(StepError::Changed(to.path.clone())),
            };
            return kept.or_else(|refused| {
                exchange(&from.dir, &from.name, &to.dir, &to.name)
                    .map_err(|error| failed(&error))?;
                Err(refused)
            });
        }
        self.hold_moved(&held, to, (&to.dir, &to.name))?;
        // Without an exchange the name is free for a moment.
        self.keep(to, (&to.dir, &to.name), TrashMethod::Move)?;
        rename_new(&from.dir, &from.name, &to.dir, &to.name).map_err(|error| failed(&error))
    }

    /// Moves the inspected entry into the trash. `entries` and `disk_bytes` state its size.
    ///
    /// # Errors
    /// [`StepError`]; the target is unchanged then.
    pub(crate) fn discard(
        &mut self,
        target: &Target,
        what: &FileStamp,
        entries: u64,
        disk_bytes: u64,
    ) -> Result<(), StepError> {
        let held = self.hold(target)?;
        let step = Step::Deleted { at: target.spot(), what: what.clone(), entries, disk_bytes };
        self.plan(target, step)?;
        self.sync(target)?;
        self.keep(target, (&target.dir, &target.name), TrashMethod::Move)?;
        sync(&target.dir);
        let failed = |error: &std::io::Error| StepError::io(error, target);
        let found = find(self.context.trash, (self.call(), self.step()), target);
        if let Some((content, stamp)) = found.map_err(|error| failed(&error))? {
            let refused = match self.hold_moved(&held, target, (&content.dir, &content.name)) {
                Ok(()) if what.is_same(&stamp) => None,
                Ok(()) => Some(StepError::Changed(target.path.clone())),
                Err(error) => Some(error.into()),
            };
            if let Some(refused) = refused {
                bring(&content, target, &target.name).map_err(|error| failed(&error))?;
                return Err(refused);
            }
        }
        self.done(None);
        Ok(())
    }
}

fn across(error: &std::io::Error, from: &Target, to: &Target) -> StepError {
    if error.kind() == ErrorKind::CrossesDevices {
        return StepError::OtherFileSystem(to.path.clone());
    }
    if error.kind() == ErrorKind::AlreadyExists {
        return StepError::Taken(to.path.clone());
    }
    StepError::io(error, from)
}
