//! Executes `copy_path`. The copy gets its final name only when it is complete, so that no process sees a
//! partial copy.

pub(super) mod content;
pub(super) mod ends;
#[cfg(test)]
mod tests;

use cap_std::fs::{File, Metadata, OpenOptions};
use content::{Progress, copy_folder, refuse_without_room};
use ends::{CopySource, real, refuse_overlap, replaces};
use orion_catalog::Tool;
use orion_catalog::tools::copy_path::{Arguments, CopyPath, Returns};
use orion_domain::{Access, ToolError};

use super::{FileContext, FileTool, Outcome, nearby, regular};
use crate::changes::{Change, Precondition, TrashSpace, lock_paths};
use crate::entry::{Target, disk_bytes, disk_bytes_at};
use crate::observe::hold_copied;
use crate::roots::{Located, Wanted, io_failure};
use crate::survey::{CopyMethod, Count, Destination, survey};

impl FileTool for CopyPath {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let source = context.path(&arguments.source)?;
        let destination = context.path(&arguments.destination)?;
        let _lock = lock_paths(context, &[&destination])?;
        let from = context.roots.locate(&source, Access::Read)?;
        let to = context.roots.locate(&destination, Access::Write)?;
        let landed = real(&to)?;
        refuse_overlap(&real(&from)?, &landed)?;
        let landing = Destination { asked: &destination, real: &landed, root: &to.root };
        let thing = if from.is_folder() { CopySource::Folder } else { CopySource::File };
        let file = match thing {
            CopySource::File => Some(open(&from, context)?),
            CopySource::Folder => None,
        };
        let replaced = replaces(&to, thing, arguments.overwrite, context)?;
        context.risk.raise_if_starting_at(&to, &destination)?;
        if let Some((_, metadata)) = &file {
            context.risk.raise_if_executable(metadata, &destination)?;
        }
        let count = match &file {
            Some((_, metadata)) => {
                Count { entries: 1, bytes: metadata.len(), disk_bytes: disk_bytes(metadata) }
            }
            None => survey(&from, &landing, CopyMethod::Copied, context)?,
        };
        refuse_without_room(&to.dir, count.disk_bytes, &destination)?;
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
        let room = TrashSpace::take(context, &destination, disk_bytes_at(&to)?)?;
        if context.dry_run {
            let message = format!("Would copy {source} to {destination}{over}: {what}.");
            return Ok(Outcome::new(message, returns));
        }
        context.check()?;
        let mut change = Change::begin(context, Self::NAME, &[&destination], room);
        let target = Target::of(&to)?;
        match file {
            Some(file) => place_file(&mut change, &from, file, &target, replaced, context)?,
            None => place_folder(&mut change, &from, &target, &landing, count, context)?,
        }
        change.finish();
        Ok(Outcome::new(format!("Copied {source} to {destination}{over}: {what}."), returns))
    }
}

/// Opens the source file.
fn open(from: &Located, context: &FileContext<'_>) -> Result<(File, Metadata), ToolError> {
    regular::refuse_unfit(from)?;
    let path = &from.asked;
    let Some(name) = from.name().filter(|_| from.found.is_some()) else {
        let wanted = if from.rest.len() > 1 { Wanted::Directory } else { Wanted::Path };
        return Err(nearby::suggest(wanted.missing(path), from, context));
    };
    regular::open(&from.dir, name, path, OpenOptions::new().read(true))
}

/// Copies a file to its destination.
pub(super) fn place_file(
    change: &mut Change<'_>,
    from: &Located,
    (mut file, metadata): (File, Metadata),
    target: &Target,
    replaced: bool,
    context: &FileContext<'_>,
) -> Result<(), ToolError> {
    let bytes = metadata.len();
    let mut staged = change.stage(target, None)?;
    // Set before the file has content: its mode may allow only few readers.
    context.risk.raise_if_executable(&metadata, &target.path)?;
    staged.like(&metadata).map_err(|error| io_failure(&error, Wanted::File, &target.path))?;
    Progress::new(context, bytes).copy(&mut file, &mut staged, bytes, &from.asked)?;
    hold_copied(from, staged.digest(), context)?;
    change.place(
        target,
        staged,
        if replaced { Precondition::AnyFile } else { Precondition::Nothing },
    )?;
    Ok(())
}

/// Copies a folder to its destination.
pub(super) fn place_folder(
    change: &mut Change<'_>,
    from: &Located,
    target: &Target,
    landing: &Destination<'_>,
    count: Count,
    context: &FileContext<'_>,
) -> Result<(), ToolError> {
    let staged = change.stage_folder(target)?;
    copy_folder(from, &staged.dir, landing, count, context)?;
    hold_copied(from, None, context)?;
    change.place_folder(target, staged)?;
    Ok(())
}
