//! Executes `move_path`. On one file system a move is a rename. Otherwise a complete copy gets its name
//! first, and only then does the source go to the trash.

#[cfg(test)]
mod tests;

use cap_std::fs::OpenOptions;
use orion_catalog::Tool;
use orion_catalog::tools::move_path::{Arguments, MovePath, Returns};
use orion_domain::{Access, ErrorCode, ToolError};

use super::copy_path::content::refuse_without_room;
use super::copy_path::ends::{CopySource, real, refuse_overlap, replaces};
use super::copy_path::{place_file, place_folder};
use super::delete_directory::refuse_roots;
use super::{FileContext, FileTool, Outcome, nearby, regular};
use crate::changes::{Change, Precondition, StepError, TrashSpace, lock_paths};
use crate::entry::{FileStamp, Target, disk_bytes, disk_bytes_at};
use crate::roots::{FileKind, Located, Wanted};
use crate::survey::{CopyMethod, Count, Destination, shares_file_system, survey};

impl FileTool for MovePath {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let source = context.path(&arguments.source)?;
        let destination = context.path(&arguments.destination)?;
        let _lock = lock_paths(context, &[&source, &destination])?;
        context.roots.locate_entry(&source, Access::Read)?;
        let from = context.roots.locate_entry(&source, Access::Delete)?;
        let to = context.roots.locate(&destination, Access::Write)?;
        let landed = real(&to)?;
        refuse_roots(&from, context)?;
        let thing = thing(&from, context)?;
        refuse_overlap(&real(&from)?, &landed)?;
        let replaced = replaces(&to, thing, arguments.overwrite, context)?;
        context.risk.raise_if_starting_at(&from, &destination)?;
        context.risk.raise_if_starting_at(&to, &destination)?;
        let landing = Destination { asked: &destination, real: &landed, root: &to.root };
        let origin = Target::of(&from)?;
        let stamp = origin.stamp()?.ok_or_else(|| Wanted::Path.missing(&source))?;
        let moving = Moving { from, to: &to, landing, stamp, replaced };
        let count = match thing {
            CopySource::File => {
                Count { entries: 1, bytes: moving.stamp.bytes, disk_bytes: moving.stamp.disk_bytes }
            }
            CopySource::Folder => {
                survey(&origin.entered()?, &moving.landing, CopyMethod::Renamed, context)?
            }
        };
        let Count { entries, bytes, .. } = count;
        let returns = Returns {
            source: source.to_string(),
            destination: destination.to_string(),
            bytes,
            entries,
            replaced,
        };
        let over = if replaced { " in the place of the file there" } else { "" };
        let what = thing.describe(count);
        // A move to another file system copies the source, and then moves it to the trash.
        let crosses = !shares_file_system(&moving.from, &to);
        let leaving = if crosses { count.disk_bytes } else { 0 };
        let room = TrashSpace::take(context, &source, disk_bytes_at(&to)?.saturating_add(leaving))?;
        if context.dry_run {
            let message = format!("Would move {source} to {destination}{over}: {what}.");
            return Ok(Outcome::new(message, returns));
        }
        context.check()?;
        let mut change = Change::begin(context, Self::NAME, &[&source, &destination], room);
        let target = Target::of(&to)?;
        let onto = if replaced { Precondition::AnyFile } else { Precondition::Nothing };
        match change.rename(&origin, &target, onto) {
            Err(StepError::OtherFileSystem(_)) => {
                if !crosses {
                    change.more_room(&source, count.disk_bytes)?;
                }
                moving.copy(&mut change, &origin, &target, thing, context)?;
            }
            other => other?,
        }
        change.finish();
        Ok(Outcome::new(format!("Moved {source} to {destination}{over}: {what}."), returns))
    }
}

/// Returns the kind of the source. Refuses a link, because its target would differ at another path.
fn thing(from: &Located, context: &FileContext<'_>) -> Result<CopySource, ToolError> {
    let path = &from.asked;
    let refused = |code, message: String| {
        Err(ToolError::new(code, message).with("attempted_path", path.to_string()))
    };
    match (from.name(), from.found) {
        (Some(_), Some(FileKind::File)) => Ok(CopySource::File),
        (Some(_), Some(FileKind::Folder)) => Ok(CopySource::Folder),
        (Some(_), Some(FileKind::Link)) => {
            refused(ErrorCode::PreconditionFailed, format!("{path} is a link."))
                .map_err(|error| error.hint("name the file or folder that it leads to"))
        }
        (Some(_), Some(FileKind::Special)) => refused(
            ErrorCode::NotSupported,
            format!("{path} is a FIFO, a socket or a device. Only files and folders are moved."),
        ),
        (None, Some(_)) => Err(from.no_folder()),
        (_, None) => {
            let wanted = if from.rest.len() > 1 { Wanted::Directory } else { Wanted::Path };
            Err(nearby::suggest(wanted.missing(path), from, context))
        }
    }
}

/// An evaluated move.
struct Moving<'a> {
    from: Located,
    to: &'a Located,
    landing: Destination<'a>,
    stamp: FileStamp,
    replaced: bool,
}

impl Moving<'_> {
    /// Moves to another file system: copies the source, then moves the inspected source to the trash.
    fn copy(
        &self,
        change: &mut Change<'_>,
        origin: &Target,
        target: &Target,
        thing: CopySource,
        context: &FileContext<'_>,
    ) -> Result<(), ToolError> {
        let count = match thing {
            CopySource::File => {
                let mut options = OpenOptions::new();
                let options = options.read(true);
                let file = regular::open(&origin.dir, &origin.name, &origin.path, options)?;
                let (bytes, disk_bytes) = (file.1.len(), disk_bytes(&file.1));
                refuse_without_room(&self.to.dir, disk_bytes, &target.path)?;
                place_file(change, &self.from, file, target, self.replaced, context)?;
                Count { entries: 1, bytes, disk_bytes }
            }
            CopySource::Folder => {
                let folder = origin.entered()?;
                let count = survey(&folder, &self.landing, CopyMethod::Copied, context)?;
                refuse_without_room(&self.to.dir, count.disk_bytes, &target.path)?;
                place_folder(change, &folder, target, &self.landing, count, context)?;
                count
            }
        };
        change.discard(origin, &self.stamp, count.entries, count.disk_bytes)?;
        Ok(())
    }
}
