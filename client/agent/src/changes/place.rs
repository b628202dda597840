//! Giving a name to what was staged, over nothing or over a file.

use cap_std::fs::Dir;
use orion_domain::CallId;

use super::checked_stamp::CheckedStamp;
use super::contents::{TrashMethod, bring, find, keep};
use super::file_stamp::of_tree;
use super::record::Source;
use super::staged::temporary;
use super::swap::{exchange, rename_new, sync};
use super::{Change, FileStamp, Staged, StagedFolder, StepError, Target};
use crate::roots::FileKind;

/// How often others may be quicker before a step gives up.
const TRIES: usize = 8;

/// What may have the name before.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Precondition<'a> {
    /// Nothing.
    Nothing,
    /// A file, or nothing. The file goes to the trash.
    AnyFile,
    /// This file, as it was looked at. It goes to the trash.
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
    /// Gives a staged file the target's name: all at once, for whoever looks.
    ///
    /// # Errors
    /// [`Refused`]; then the target is as it was.
    pub(crate) fn place(
        &mut self,
        target: &Target,
        staged: Staged,
        over: Precondition<'_>,
    ) -> Result<(), StepError> {
        let print = staged.seal().map_err(|error| StepError::io(&error, target))?;
        self.context.check()?;
        self.ready(target, &print)?;
        self.put(target, &print, over)
    }

    /// Gives a staged folder the target's name, which has to be free.
    ///
    /// # Errors
    /// [`Refused`]; then the target is as it was.
    pub(crate) fn place_folder(
        &mut self,
        target: &Target,
        staged: StagedFolder,
    ) -> Result<(), StepError> {
        let name = temporary(self.call());
        let check = || self.context.check();
        let tree = of_tree(staged.dir, &check).map_err(|error| error.of(target))?;
        let print =
            FileStamp::at(&target.dir, &name).map_err(|error| StepError::io(&error, target))?;
        let mut print = print.ok_or_else(|| StepError::Changed(target.path.clone()))?;
        print.digest = Some(tree.digest);
        self.context.check()?;
        self.ready(target, &print)?;
        self.put(target, &print, Precondition::Nothing)
    }

    /// Gives what a step of a call left in the trash the target's name.
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
        // Copied from another file system, it takes a while: never under the name that is meant.
        bring(&content, target, &name).map_err(|error| failed(&error))?;
        let print = FileStamp::at(&target.dir, &name).map_err(|error| failed(&error))?;
        let print = print.ok_or_else(changed)?;
        self.ready(target, &print)?;
        self.put(target, &print, over)
    }

    /// Gives what has the call's temporary name, and looks like `print`, the target's name.
    fn put(
        &mut self,
        target: &Target,
        print: &FileStamp,
        over: Precondition<'_>,
    ) -> Result<(), StepError> {
        let name = temporary(self.call());
        let Target { dir, name: to, .. } = target;
        if matches!(over, Precondition::Nothing) {
            self.hold_free(target)?;
            return match rename_new(dir, &name, dir, to) {
                Ok(()) => self.placed(dir, None),
                Err(error) => Err(taken_or(&error, target)),
            };
        }
        let held = self.hold(target)?;
        for _ in 0..TRIES {
            match exchange(dir, &name, dir, to) {
                Ok(true) => return self.swapped(target, print, (over, &held)),
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
                // Somebody was quicker; then theirs is what is replaced.
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(StepError::io(&error, target)),
            }
        }
        Err(StepError::Changed(target.path.clone()))
    }

    /// The new file has the name, and what had it before the temporary one. If that may not be
    /// replaced, it gets its name back.
    fn swapped(
        &mut self,
        target: &Target,
        new: &FileStamp,
        (over, held): (Precondition<'_>, &CheckedStamp),
    ) -> Result<(), StepError> {
        let name = temporary(self.call());
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
            // Quicker still: somebody replaced the new file before it was taken back. Theirs is no
            // litter.
            self.keep(target, (dir, &name), TrashMethod::Move)?;
        }
        Err(refused)
    }

    /// Replaces a file where the file system cannot exchange names: the old file gets a second name in
    /// the trash before it loses the first. None where nothing is there.
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
        let name = temporary(self.call());
        target
            .dir
            .rename(&name, &target.dir, &target.name)
            .map_err(|error| StepError::io(&error, target))?;
        // A copy is told from the old file by its number.
        let found = find(self.context.trash, (self.call(), self.step()), target);
        Ok(Some(found.ok().flatten().map_or(old, |(_, kept)| kept)))
    }

    fn placed(&mut self, dir: &Dir, kept: Option<FileStamp>) -> Result<(), StepError> {
        sync(dir);
        self.done(kept);
        Ok(())
    }

    /// Puts what a name stands for into the trash, for the step that was planned last.
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
