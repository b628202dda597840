//! Undoes one step. A check first finds what would be done or what conflicts; then the undo runs as steps of
//! the undo call. Leaves alone what changed since.

mod done_again;

use std::collections::BTreeSet;
use std::io;

use cap_fs_ext::DirExt;
use orion_domain::{Access, CallId, DevicePath, Digest, ToolError};

use super::contents::find;
use super::{Change, FileStamp, Precondition, StepError, Target, tail};
use crate::call::FileContext;
use crate::entry::{Extent, Location, with_digest};
use crate::record::{RecordedStep, Source, Step};
use crate::roots::FileKind;
use crate::survey::refuse_unfit_for;

/// What keeps a step from being undone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Conflict {
    pub(super) path: DevicePath,
    pub(super) differs: &'static str,
}

/// Why the check or the undo failed.
#[derive(Debug)]
pub(super) enum UndoError {
    Conflict(Box<Conflict>),
    Failed(ToolError),
}

impl From<ToolError> for UndoError {
    fn from(error: ToolError) -> Self {
        Self::Failed(error)
    }
}

impl From<StepError> for UndoError {
    fn from(refused: StepError) -> Self {
        match refused {
            StepError::Taken(path) => conflict(&path, "something has its name"),
            StepError::Changed(path) => conflict(&path, "it has changed"),
            StepError::OtherFileSystem(_) | StepError::Failed(_) => Self::Failed(refused.into()),
        }
    }
}

fn conflict(path: &DevicePath, differs: &'static str) -> UndoError {
    UndoError::Conflict(Box::new(Conflict { path: path.clone(), differs }))
}

/// The action that undoes a step.
#[derive(Debug)]
enum Back {
    RemoveFolder,
    MakeFolder,
    Discard { now: FileStamp, extent: Extent },
    Restore { over: Option<FileStamp> },
    Move { from: Box<Target>, restore: bool },
    Shorten { now: FileStamp, cut: u64 },
    Lengthen { text: Vec<u8> },
}

impl Back {
    /// Returns the bytes on the disk that the action moves to the trash.
    fn disk_bytes(&self) -> u64 {
        match self {
            Self::Discard { extent, .. } => extent.disk_bytes,
            Self::Restore { over } => over.as_ref().map_or(0, |over| over.disk_bytes),
            Self::Shorten { cut, .. } => *cut,
            Self::RemoveFolder | Self::MakeFolder | Self::Move { .. } | Self::Lengthen { .. } => 0,
        }
    }
}

/// The cost of an undo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cost {
    /// Touched files and folders. `None` if unknown.
    pub(super) entries: Option<u64>,
    /// Touched bytes in files. `None` if unknown.
    pub(super) bytes: Option<u64>,
    /// Bytes on the disk that go to the trash.
    pub(super) disk_bytes: u64,
}

impl Cost {
    pub(super) const NOTHING: Self = Self { entries: Some(0), bytes: Some(0), disk_bytes: 0 };

    pub(super) fn and(self, other: Self) -> Self {
        let sum = |(one, other): (u64, u64)| one.saturating_add(other);
        Self {
            entries: self.entries.zip(other.entries).map(sum),
            bytes: self.bytes.zip(other.bytes).map(sum),
            disk_bytes: self.disk_bytes.saturating_add(other.disk_bytes),
        }
    }
}

/// What the steps that are undone before this one leave behind.
#[derive(Debug, Default)]
pub(super) struct LaterSteps {
    /// Names that will be free.
    free: BTreeSet<DevicePath>,
    /// Folders that will exist.
    there: BTreeSet<DevicePath>,
}

/// One step of a call that is being undone.
#[derive(Debug, Clone, Copy)]
pub(super) struct UndoStep<'a> {
    pub(super) call: CallId,
    pub(super) step: usize,
    pub(super) noted: &'a RecordedStep,
    /// Accesses of which a root must grant one.
    pub(super) any: &'a [Access],
}

impl UndoStep<'_> {
    /// Checks whether the step can be undone now, and returns the cost.
    pub(super) fn check(
        self,
        context: &FileContext<'_>,
        ahead: &mut LaterSteps,
    ) -> Result<Cost, UndoError> {
        let found = self.find_out(context, ahead);
        match &self.noted.step {
            Step::Placed { at, .. } if self.noted.kept.is_none() => {
                ahead.free.insert(at.real.clone());
            }
            Step::Removed { at } => {
                ahead.there.insert(at.real.clone());
            }
            Step::Moved { to, over: None, .. } => {
                ahead.free.insert(to.real.clone());
            }
            Step::Placed { .. }
            | Step::Deleted { .. }
            | Step::Moved { .. }
            | Step::Extended { .. }
            | Step::Shortened { .. } => {}
        }
        Ok(match found? {
            None => Cost { entries: Some(1), ..Cost::NOTHING },
            Some((target, back)) => {
                self.raise_where_done_again(context, &target, &back)?;
                let (entries, bytes) = self.amount(&back);
                Cost { entries, bytes, disk_bytes: back.disk_bytes() }
            }
        })
    }

    /// Returns how many files and folders, and how many bytes in files, the action touches. `None` if
    /// unknown.
    fn amount(self, back: &Back) -> (Option<u64>, Option<u64>) {
        let of = |stamp: &FileStamp| (stamp.what != FileKind::Folder).then_some(stamp.bytes);
        match (back, &self.noted.step) {
            (Back::Discard { extent, .. }, _) => (Some(extent.entries), Some(extent.bytes)),
            (Back::Restore { .. }, Step::Deleted { entries, what, .. }) => {
                (Some(*entries), of(what))
            }
            (Back::Restore { .. }, _) => (Some(1), self.noted.kept.as_ref().and_then(of)),
            // Other entries in the folder are not counted.
            (Back::Move { .. }, Step::Moved { what, .. }) => (of(what).map(|_| 1), of(what)),
            (Back::Move { .. }, _) => (None, None),
            (Back::Shorten { cut, .. }, _) => (Some(1), Some(*cut)),
            (Back::Lengthen { text }, _) => (Some(1), u64::try_from(text.len()).ok()),
            (Back::RemoveFolder | Back::MakeFolder, _) => (Some(1), Some(0)),
        }
    }

    /// Undoes the step as a step of `change`.
    pub(super) fn take_back(self, change: &mut Change<'_>) -> Result<(), UndoError> {
        let Some((target, back)) = self.find_out(change.context, &LaterSteps::default())? else {
            return Ok(());
        };
        let of = (self.call, self.step);
        match back {
            Back::RemoveFolder => change.remove_folder(&target)?,
            Back::MakeFolder => change.make_folder(&target)?,
            Back::Discard { now, extent } => {
                change.discard(&target, &now, extent.entries, extent.disk_bytes)?;
            }
            Back::Restore { over: None } => {
                change.place_kept(&target, of, Precondition::Nothing)?
            }
            Back::Restore { over: Some(now) } => {
                change.place_kept(&target, of, Precondition::Unchanged(&now))?;
            }
            Back::Move { from, restore } => {
                change.rename(&target, &from, Precondition::Nothing)?;
                if restore {
                    change.place_kept(&target, of, Precondition::Nothing)?;
                }
            }
            Back::Shorten { now, cut } => change.shorten(&target, &now, cut)?,
            Back::Lengthen { text } => {
                let file =
                    tail::open_to_add(&target).map_err(|error| StepError::io(&error, &target))?;
                change.append(&target, &file, &text)?;
            }
        }
        Ok(())
    }

    /// Finds the action that undoes the step. `None` if its folder does not exist yet, so that nothing can be
    /// checked.
    fn find_out(
        self,
        context: &FileContext<'_>,
        ahead: &LaterSteps,
    ) -> Result<Option<(Target, Back)>, UndoError> {
        let at = self.noted.kept_from();
        if at.real.parent().is_some_and(|folder| ahead.there.contains(&folder)) {
            return Ok(None);
        }
        let target = self.reach(context, at)?;
        let back = match &self.noted.step {
            Step::Placed { source: Source::Folder, .. } => self.made_folder(&target, ahead)?,
            Step::Placed { .. } => self.placed(context, &target)?,
            Step::Deleted { what, .. } => {
                is_free(&target, ahead)?;
                self.kept(context, &target, what)?;
                Back::Restore { over: None }
            }
            Step::Removed { .. } => {
                is_free(&target, ahead)?;
                Back::MakeFolder
            }
            Step::Moved { from, what, over, .. } => {
                let from = self.reach(context, from)?;
                is_free(&from, ahead)?;
                let now = target.stamp()?.ok_or_else(|| conflict(&at.path, "it is gone"))?;
                if (now.what, now.inode) != (what.what, what.inode) {
                    return Err(conflict(&at.path, "something else has its name"));
                }
                if let Some(over) = over {
                    self.kept(context, &target, over)?;
                }
                // A failed call puts back its own changes.
                if self.call != context.call {
                    may_go_back(context, &target, &from, (what, &now))?;
                }
                Back::Move { from: Box::new(from), restore: over.is_some() }
            }
            Step::Extended { before, added, text, .. } => {
                let now = self.extended(context, &target, (before, *added), *text)?;
                Back::Shorten { now, cut: *added }
            }
            Step::Shortened { before, cut, .. } => {
                let now = target.stamp()?.ok_or_else(|| conflict(&at.path, "it is gone"))?;
                if (now.inode, now.bytes.saturating_add(*cut)) != (before.inode, before.bytes) {
                    return Err(conflict(&at.path, "its content has changed"));
                }
                let text = tail::text_of(context.trash, (self.call, self.step), &target)
                    .map_err(|error| StepError::io(&error, &target))?
                    .ok_or_else(|| conflict(&at.path, "what was cut off is not kept any more"))?;
                Back::Lengthen { text }
            }
        };
        Ok(Some((target, back)))
    }

    fn reach(self, context: &FileContext<'_>, location: &Location) -> Result<Target, UndoError> {
        Target::again(context.roots, location, self.any).map_err(|error| match error.code {
            code if code.is_denial() => UndoError::Failed(error),
            _ => conflict(&location.path, "its folder is gone, or leads elsewhere"),
        })
    }

    fn made_folder(self, target: &Target, ahead: &LaterSteps) -> Result<Back, UndoError> {
        let now = target.stamp()?.ok_or_else(|| conflict(&target.path, "it is gone"))?;
        let inode = self.noted.ready.as_ref().map(|stamp| stamp.inode);
        if now.what != FileKind::Folder || Some(now.inode) != inode {
            return Err(conflict(&target.path, "something else has its name"));
        }
        let failed = |error: io::Error| UndoError::from(StepError::io(&error, target));
        let dir = target.dir.open_dir_nofollow(&target.name).map_err(failed)?;
        for entry in dir.entries().map_err(failed)? {
            let name = entry.map_err(failed)?.file_name();
            let real = name.to_str().and_then(|name| target.real.join(name).ok());
            if !real.is_some_and(|real| ahead.free.contains(&real)) {
                return Err(conflict(&target.path, "something is in it"));
            }
        }
        Ok(Back::RemoveFolder)
    }

    fn placed(self, context: &FileContext<'_>, target: &Target) -> Result<Back, UndoError> {
        let path = &target.path;
        let now = target.stamp()?.ok_or_else(|| conflict(path, "it is gone"))?;
        let Some(ready) = &self.noted.ready else {
            return Err(conflict(path, "what it was is not known any more"));
        };
        if now.what != ready.what {
            return Err(conflict(path, "something else has its name"));
        }
        let check = || context.check();
        let (now, extent) = with_digest(now, target, &check).map_err(|error| error.of(target))?;
        if let Some(differs) = ready.difference(&now) {
            return Err(conflict(path, differs));
        }
        match &self.noted.kept {
            None => Ok(Back::Discard { now, extent }),
            Some(kept) => {
                self.kept(context, target, kept)?;
                Ok(Back::Restore { over: Some(now) })
            }
        }
    }

    /// Returns the file's stamp if the file holds its old content and the appended text, and nothing else.
    fn extended(
        self,
        context: &FileContext<'_>,
        target: &Target,
        (before, added): (&FileStamp, u64),
        text: Digest,
    ) -> Result<FileStamp, UndoError> {
        let check = || context.check();
        let failed = |error: &io::Error| StepError::io(error, target);
        let file = tail::open_to_read(target).map_err(|error| failed(&error))?;
        let now = FileStamp::of_file(&file).map_err(|error| failed(&error))?;
        let changed = || Err(conflict(&target.path, "its content has changed"));
        if (now.inode, now.bytes) != (before.inode, before.bytes.saturating_add(added)) {
            return changed();
        }
        let ready = self.noted.ready.as_ref();
        let is_untouched = ready.is_some_and(|ready| ready.is_same(&now)) || {
            // Another process wrote to the file since, but the old content may be unchanged.
            let begins = tail::digest_to(&file, before.bytes, &check);
            let begins = begins.map_err(|error| error.of(target))?;
            before.digest.is_some() && before.digest == begins
        };
        let ends = tail::digest_from(&file, before.bytes, &check);
        if !is_untouched || ends.map_err(|error| error.of(target))? != text {
            return changed();
        }
        Ok(now)
    }

    /// Checks that the step's trash content still exists unchanged.
    fn kept(
        self,
        context: &FileContext<'_>,
        target: &Target,
        kept: &FileStamp,
    ) -> Result<(), UndoError> {
        let found = find(context.trash, (self.call, self.step), target)
            .map_err(|error| StepError::io(&error, target))?;
        if found.is_some_and(|(_, stamp)| kept.is_same(&stamp)) {
            return Ok(());
        }
        Err(conflict(&target.path, "what was there before is not in the trash any more"))
    }
}

/// Applies the rules of a move to a moved entry, which may contain what others added. Its current path must
/// be readable, and nothing in it may be denied at either path.
fn may_go_back(
    context: &FileContext<'_>,
    from: &Target,
    to: &Target,
    (before, now): (&FileStamp, &FileStamp),
) -> Result<(), ToolError> {
    if now.what != FileKind::Folder && before.is_same(now) {
        return Ok(());
    }
    context.roots.locate_real(&from.real, Access::Read)?;
    match now.what {
        FileKind::Folder => refuse_unfit_for(from, to, context),
        FileKind::File | FileKind::Link | FileKind::Special => Ok(()),
    }
}

fn is_free(target: &Target, ahead: &LaterSteps) -> Result<(), UndoError> {
    if target.stamp()?.is_some() && !ahead.free.contains(&target.real) {
        return Err(conflict(&target.path, "something has its name"));
    }
    Ok(())
}

/// Rolls back the steps of a failed call, the last first. Returns whether all were undone.
pub(super) fn roll_back(change: &mut Change<'_>) -> bool {
    const ANY: [Access; 3] = [Access::Write, Access::Delete, Access::Read];
    let steps = change.noted().to_vec();
    let mut is_back = true;
    for (step, noted) in steps.iter().enumerate().rev().filter(|(_, noted)| noted.done) {
        let past = UndoStep { call: change.call(), step, noted, any: &ANY };
        if let Err(stuck) = past.take_back(change) {
            tracing::warn!(call = %change.call(), ?stuck, "a step of a call that failed could not be taken back");
            is_back = false;
        }
    }
    is_back
}
