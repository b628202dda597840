//! Recovery after the agent was killed. Each step that began and did not finish is completed or reverted
//! before any other call runs.

use std::io;

use cap_std::fs::Dir;
use orion_domain::{Access, CallId, ErrorCode, ToolError};

use super::contents::{TrashMethod, bring, find, forget_local_of, keep};
use super::{FileStamp, Line, Target, tail};
use crate::record::{Record, RecordedStep, Source, Step, add, reopen};
use crate::roots::{FileKind, Roots, Wanted, io_failure, staged_name};
use crate::trash::Trash;

/// Any granted access suffices for cleanup.
const ANY: [Access; 2] = [Access::Write, Access::Delete];

/// What recovery established about an unfinished call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Recovered {
    /// The call changed nothing.
    Unchanged,
    /// The call made the changes in its record, which can be undone.
    Changed,
}

/// Cleans up after the unfinished calls of an earlier run, and returns what they did. Calls whose folders are
/// out of reach wait for the next time. Blocks.
pub fn recover(trash: &Trash, roots: &Roots) -> Vec<(CallId, Recovered)> {
    let mut settled = Vec::new();
    for call in trash.unsettled() {
        match recover_one(trash, roots, call) {
            Ok(established) => {
                tracing::info!(%call, ?established, "a call that was cut off was cleaned up after");
                trash.settled(call);
                settled.push((call, established));
            }
            Err(error) => {
                tracing::warn!(%call, code = error.code.as_str(), "a call that was cut off cannot be cleaned up after yet");
            }
        }
    }
    settled
}

/// Cleans up after a call whose process was ended, at once, and returns what the call did. The caller makes
/// sure that the process is gone and that no other call changes the same paths. Blocks.
///
/// # Errors
/// A folder is out of reach, or the disk failed. The next recovery tries again.
#[cfg(target_os = "linux")]
pub(crate) fn recover_now(
    trash: &Trash,
    roots: &Roots,
    call: CallId,
) -> Result<Recovered, ToolError> {
    let settled = match trash.find(call) {
        Ok(Some((_, false))) => return Ok(Recovered::Changed),
        Ok(None) => {
            trash.give_back_room(call);
            return Ok(Recovered::Unchanged);
        }
        Ok(Some((_, true))) => recover_one(trash, roots, call),
        Err(error) => Err(failed(error)),
    };
    settled.inspect_err(|_| trash.left_open(call))
}

fn failed(error: io::Error) -> ToolError {
    ToolError::new(ErrorCode::ExecutionFailed, format!("the trash: {}", error.kind()))
}

fn recover_one(trash: &Trash, roots: &Roots, call: CallId) -> Result<Recovered, ToolError> {
    let Some((place, _)) = trash.find(call).map_err(failed)? else {
        return Ok(Recovered::Unchanged);
    };
    let record = match Record::read(&place) {
        Ok(record) => Some(record),
        // Without a record no step ran.
        Err(error)
            if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::UnexpectedEof) =>
        {
            None
        }
        // The record cannot be read now, so the content beside it may be the only copy of a file.
        Err(error) => return Err(failed(error)),
    };
    let mut ended = None;
    if let Some(mut record) = record {
        let last = record.steps.len().saturating_sub(1);
        if let Some(noted) = record.steps.last().filter(|last| !last.done).cloned()
            && let Some(kept) = settle(trash, roots, (call, last), &noted)?
        {
            let line = Line::Done { kept };
            reopen(&place).and_then(|mut file| add(&mut file, &line)).map_err(failed)?;
            record.apply(line);
        }
        ended = record.steps.iter().any(|noted| noted.done).then_some(record);
    }
    // Windows renames and removes no folder that is open.
    drop(place);
    if let Some(record) = ended {
        if record.header.is_final {
            forget_local_of(roots, &record);
            trash.forget(call).map_err(failed)?;
        } else {
            trash.end(&record);
        }
        return Ok(Recovered::Changed);
    }
    trash.forget(call).map_err(failed)?;
    Ok(Recovered::Unchanged)
}

/// Completes or reverts an unfinished step. Returns what the step put into the trash, or `None` if the step
/// was not taken.
#[expect(clippy::option_option, reason = "whether it was taken, and then what it kept")]
pub(super) fn settle(
    trash: &Trash,
    roots: &Roots,
    of: (CallId, usize),
    noted: &RecordedStep,
) -> Result<Option<Option<FileStamp>>, ToolError> {
    let at = noted.kept_from();
    let target = match Target::again(roots, at, &ANY) {
        Ok(target) => target,
        // If the folder itself is gone, there is nothing to clean up.
        Err(error)
            if error.code == ErrorCode::DirectoryNotFound && parent_is_reached(roots, at) =>
        {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let failed = |error: &io::Error| io_failure(error, Wanted::Path, &target.path);
    let taken = match &noted.step {
        Step::Placed { source, .. } => {
            settle_placed(trash, of, &target, (*source, noted.ready.as_ref()))
        }
        Step::Deleted { .. } => find(trash, of, &target).map(|it| it.map(|_| None)),
        Step::Removed { .. } => {
            FileStamp::at(&target.dir, &target.name).map(|it| it.is_none().then_some(None))
        }
        Step::Extended { before, .. } => {
            tail::settle(trash, of, &target, before).map(|it| it.then_some(None))
        }
        Step::Shortened { before, cut, .. } => {
            FileStamp::at(&target.dir, &target.name).map(|now| {
                now.is_some_and(|now| now.inode == before.inode && now.bytes + cut == before.bytes)
                    .then_some(None)
            })
        }
        Step::Moved { from, what, over, .. } => {
            let from = Target::again(roots, from, &ANY)?;
            settle_moved(trash, of, (&from, &target), (what, over.as_ref()))
        }
    };
    taken.map_err(|error| failed(&error))
}

/// Returns whether some root still leads towards the location, so that a missing folder is really gone.
fn parent_is_reached(roots: &Roots, at: &crate::entry::Location) -> bool {
    ANY.iter().any(|access| {
        roots.locate_real(&at.real, *access).is_ok_and(|located| located.found.is_none())
    })
}

#[expect(clippy::option_option, reason = "as in `settle`")]
fn settle_placed(
    trash: &Trash,
    of: (CallId, usize),
    target: &Target,
    (source, ready): (Source, Option<&FileStamp>),
) -> io::Result<Option<Option<FileStamp>>> {
    let name = staged_name(of.0);
    let kept = find(trash, of, target)?;
    if source == Source::Folder {
        // An empty folder does no harm, and its creator is unknown by now.
        return Ok(None);
    }
    match (FileStamp::at(&target.dir, &name)?, ready) {
        (Some(found), Some(ready)) if !ready.is_same(&found) => {
            // The new file has its name already, and this is the file that had it before.
            keep(trash, of, target, (&target.dir, &name), TrashMethod::Move).map_err(refusal)?;
            Ok(Some(Some(found)))
        }
        (Some(found), _) => {
            if FileStamp::at(&target.dir, &target.name)?.is_some_and(|now| found.is_same(&now)) {
                // The file has both names: it gets the second by a link before it loses the first.
                target.dir.remove_file(&name)?;
                return Ok(Some(kept.map(|(_, stamp)| stamp)));
            }
            if let Some((content, _)) = kept {
                // A second name of the old file, given in advance.
                content.dir.remove_file(&content.name)?;
            }
            match source {
                // An incomplete copy, or a second name.
                Source::Kept { call, step } if find(trash, (call, step), target)?.is_some() => {
                    target.dir.remove_file(&name)?;
                }
                Source::Kept { call, step } => {
                    // The content was on its way out of the trash.
                    keep(trash, (call, step), target, (&target.dir, &name), TrashMethod::Move)
                        .map_err(refusal)?;
                }
                Source::Folder | Source::Staged => remove(&target.dir, &name, found.what)?,
            }
            Ok(None)
        }
        (None, _) => {
            if let Some((_, stamp)) = kept {
                return Ok(Some(Some(stamp)));
            }
            let now = FileStamp::at(&target.dir, &target.name)?;
            let is_there = ready.zip(now).is_some_and(|(ready, now)| ready.is_same(&now));
            Ok(is_there.then_some(None))
        }
    }
}

#[expect(clippy::option_option, reason = "as in `settle`")]
fn settle_moved(
    trash: &Trash,
    of: (CallId, usize),
    (from, to): (&Target, &Target),
    (what, over): (&FileStamp, Option<&FileStamp>),
) -> io::Result<Option<Option<FileStamp>>> {
    let is_moved = FileStamp::at(&to.dir, &to.name)?
        .is_some_and(|now| (now.what, now.inode) == (what.what, what.inode));
    let kept = find(trash, of, to)?;
    if !is_moved {
        if let Some((content, _)) = kept {
            // The name was freed for a move that did not follow.
            bring(&content, to, &to.name)?;
        }
        return Ok(None);
    }
    if let (Some(over), Some(swapped)) = (over, FileStamp::at(&from.dir, &from.name)?)
        && over.is_same(&swapped)
    {
        keep(trash, of, to, (&from.dir, &from.name), TrashMethod::Move).map_err(refusal)?;
    }
    Ok(Some(over.cloned()))
}

fn remove(dir: &Dir, name: &str, what: FileKind) -> io::Result<()> {
    match what {
        FileKind::Folder => dir.remove_dir_all(name),
        FileKind::File | FileKind::Link | FileKind::Special => dir.remove_file(name),
    }
}

fn refusal(refused: super::StepError) -> io::Error {
    let error = ToolError::from(refused);
    tracing::debug!(code = error.code.as_str(), "a step could not be cleaned up");
    io::ErrorKind::Other.into()
}
