//! Gives staged content its final name, over a free name or over a file.

use cap_std::fs::Dir;
use orion_domain::CallId;

use super::checked_stamp::CheckedStamp;
use super::contents::{TrashMethod, bring, find, keep};
use super::swap::{exchange, rename_new, sync};
use super::{Change, FileStamp, Staged, StagedFolder, StepError, Target};
use crate::entry::of_tree;
use crate::record::Source;
use crate::roots::{FileKind, staged_name};

/// How often another process may win the race for a name before the step fails.
const MAX_ATTEMPTS: usize = 8;

/// What the name may refer to before the step.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Precondition<'a> {
    /// Nothing.
    Nothing,
    /// A file, or nothing. The file goes to the trash.
    AnyFile,
    /// The file with this stamp. It goes to the trash.
    Unchanged(&'a FileStamp),
}

impl Precondition<'_> {
    fn allows(self, found: &FileStamp) -> bool {
        match self {
            Self::Nothing => false,
            Self::AnyFile => found.what == FileKind::File,
            Self::Unchanged(before) => before.is_same(found),
        }
    }
}

impl Change<'_> {
    /// Gives a staged file the target's name atomically.
    ///
    /// # Errors
    /// [`StepError`]; the target is unchanged then.
    pub(crate) fn place(
        &mut self,
        target: &Target,
        staged: Staged,
        over: Precondition<'_>,
    ) -> Result<(), StepError> {
        let stamp = staged.seal().map_err(|error| StepError::io(&error, target))?;
        self.context.check()?;
        self.ready(target, &stamp)?;
        self.put(target, &stamp, over)
    }

    /// Gives a staged folder the target's name, which must be free.
    ///
    /// # Errors
    /// [`StepError`]; the target is unchanged then.
    pub(crate) fn place_folder(
        &mut self,
        target: &Target,
        staged: StagedFolder,
    ) -> Result<(), StepError> {
        let name = staged_name(self.call());
        let check = || self.context.check();
        let tree = of_tree(staged.dir, &check).map_err(|error| error.of(target))?;
        let stamp =
            FileStamp::at(&target.dir, &name).map_err(|error| StepError::io(&error, target))?;
        let mut stamp = stamp.ok_or_else(|| StepError::Changed(target.path.clone()))?;
        stamp.digest = Some(tree.digest);
        self.context.check()?;
        self.ready(target, &stamp)?;
        self.put(target, &stamp, Precondition::Nothing)
    }

    /// Gives the trash content of a step the target's name.
    pub(super) fn place_kept(
        &mut self,
        target: &Target,
        (call, step): (CallId, usize),
        over: Precondition<'_>,
    ) -> Result<(), StepError> {
        let failed = |error: &std::io::Error| StepError::io(error, target);
        let found =
            find(self.context.trash, (call, step), target).map_err(|error| failed(&error))?;
        let changed = || StepError::Changed(target.path.clone());
        let (content, _) = found.ok_or_else(changed)?;
        let name = self.plan_placed(target, Source::Kept { call, step })?;
        self.sync(target)?;
        // A copy from another file system takes time, so it never uses the final name.
        bring(&content, target, &name).map_err(|error| failed(&error))?;
        let stamp = FileStamp::at(&target.dir, &name).map_err(|error| failed(&error))?;
        let stamp = stamp.ok_or_else(changed)?;
        self.ready(target, &stamp)?;
        self.put(target, &stamp, over)
    }

    /// Renames the call's temporary entry, which has this stamp, to the target's name.
    fn put(
        &mut self,
        target: &Target,
        stamp: &FileStamp,
        over: Precondition<'_>,
    ) -> Result<(), StepError> {
        let name = staged_name(self.call());
        let Target { dir, name: to, .. } = target;
        if matches!(over, Precondition::Nothing) {
            self.hold_free(target)?;
            return match rename_new(dir, &name, dir, to) {
                Ok(()) => self.placed(dir, None),
                Err(error) => Err(taken_or(&error, target)),
            };
        }
        let held = self.hold(target)?;
        for _ in 0..MAX_ATTEMPTS {
            match exchange(dir, &name, dir, to) {
                Ok(true) => return self.swapped(target, stamp, (over, &held)),
                Ok(false) => match self.replace(target, (over, &held))? {
                    Some(kept) => return self.placed(dir, Some(kept)),
                    None if matches!(over, Precondition::Unchanged(_)) => break,
                    None => {}
                },
                Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                    return Err(StepError::io(&error, target));
                }
                Err(_) if matches!(over, Precondition::Unchanged(_)) => break,
                Err(_) => {}
            }
            self.hold_free(target)?;
            match rename_new(dir, &name, dir, to) {
                Ok(()) => return self.placed(dir, None),
                // Another process was faster; its file is the one to replace.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StepError::io(&error, target)),
            }
        }
        Err(StepError::Changed(target.path.clone()))
    }

    /// Finishes an exchange: the new file has the name, and the old one the temporary name. If the old file
    /// may not be replaced, it gets its name back.
    fn swapped(
        &mut self,
        target: &Target,
        new: &FileStamp,
        (over, held): (Precondition<'_>, &CheckedStamp),
    ) -> Result<(), StepError> {
        let name = staged_name(self.call());
        let Target { dir, name: to, .. } = target;
        let look = || FileStamp::at(dir, &name).map_err(|error| StepError::io(&error, target));
        let old = look()?;
        let kept = match old {
            Some(old) if over.allows(&old) => self
                .hold_moved(held, target, (dir, &name))
                .map_err(StepError::from)
                .and_then(|()| self.keep(target, (dir, &name), TrashMethod::Move))
                .map(|()| old),
            Some(_) | None => Err(StepError::Changed(target.path.clone())),
        };
        let refused = match kept {
            Ok(old) => return self.placed(dir, Some(old)),
            Err(refused) => refused,
        };
        exchange(dir, &name, dir, to).map_err(|error| StepError::io(&error, target))?;
        if let Some(back) = look()?
            && !back.is_same(new)
        {
            // Another process replaced the new file before the exchange was reverted. Its file goes to the
            // trash.
            self.keep(target, (dir, &name), TrashMethod::Move)?;
        }
        Err(refused)
    }

    /// Replaces a file where the file system cannot exchange names. The old file gets a second name in the
    /// trash before it loses the first. Returns `None` if there is no file.
    fn replace(
        &mut self,
        target: &Target,
        (over, held): (Precondition<'_>, &CheckedStamp),
    ) -> Result<Option<FileStamp>, StepError> {
        let changed = || StepError::Changed(target.path.clone());
        let Some(old) = target.stamp()? else { return Ok(None) };
        if !over.allows(&old) {
            return Err(changed());
        }
        self.keep(target, (&target.dir, &target.name), TrashMethod::Link)?;
        if !target.stamp()?.is_some_and(|now| old.is_same(&now)) {
            return Err(changed());
        }
        self.hold_moved(held, target, (&target.dir, &target.name))?;
        let name = staged_name(self.call());
        target
            .dir
            .rename(&name, &target.dir, &target.name)
            .map_err(|error| StepError::io(&error, target))?;
        // A copy has another inode number than the old file.
        let found = find(self.context.trash, (self.call(), self.step()), target);
        Ok(Some(found.ok().flatten().map_or(old, |(_, kept)| kept)))
    }

    fn placed(&mut self, dir: &Dir, kept: Option<FileStamp>) -> Result<(), StepError> {
        sync(dir);
        self.done(kept);
        Ok(())
    }

    /// Moves an entry into the trash as the content of the last planned step.
    pub(super) fn keep(
        &mut self,
        target: &Target,
        what: (&Dir, &str),
        how: TrashMethod,
    ) -> Result<(), StepError> {
        let of = (self.call(), self.step());
        let content = keep(self.context.trash, of, target, what, how)?;
        self.kept_at = Some(content.at);
        Ok(())
    }
}

fn taken_or(error: &std::io::Error, target: &Target) -> StepError {
    if error.kind() == std::io::ErrorKind::AlreadyExists {
        return StepError::Taken(target.path.clone());
    }
    StepError::io(error, target)
}
