//! Executes `edit_file`. The old text must occur exactly once, so that the edit changes what was meant. All
//! other bytes stay, line ends included.

mod find;
#[cfg(test)]
mod tests;

use std::io::{Read, Write};

use cap_std::fs::OpenOptions;
use orion_catalog::Tool;
use orion_catalog::tools::edit_file::{Arguments, EditFile, Returns};
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

use super::counted::counted;
use super::difference::replaced;
use super::write_file::{MAX_CONTENT_BYTES, open, refuse_hard_links, refuse_unwritable};
use super::{FileContext, FileTool, Outcome, invalid, nearby, regular};
use crate::call::reserve_memory;
use crate::changes::{Change, Precondition, TrashSpace, lock_paths};
use crate::entry::{FileStamp, Target};
use crate::roots::{Located, Wanted, io_failure};

/// Bytes read between two checks of the deadline.
const READ_BYTES: u64 = 1024 * 1024;
/// Memory that a comparison needs besides the text, in bytes.
const COMPARED_BYTES: u64 = 1024 * 1024;

impl FileTool for EditFile {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let path = &context.path(&arguments.path)?;
        if arguments.old_text.is_empty() {
            return Err(invalid("old_text is empty; to write a whole file, use write_file."));
        }
        if arguments.old_text == arguments.new_text {
            return Err(invalid("old_text and new_text are the same, so nothing would change."));
        }
        let _lock = lock_paths(context, &[path])?;
        context.roots.locate(path, Access::Read)?;
        let located = context.roots.locate(path, Access::Write)?;
        regular::refuse_unfit(&located)?;
        if located.found.is_none() {
            return Err(nearby::suggest(Wanted::File.missing(path), &located, context));
        }
        context.risk.raise_if_starting_at(&located, path)?;
        let (mut file, stamp) = open_as_needed(&located, context)?;
        let old = text(&mut file, path, context)?;
        let at = find::only(&old, &arguments.old_text, path, context)?;
        let after = at + arguments.old_text.len();
        let size = old.len() - arguments.old_text.len() + arguments.new_text.len();
        if size > MAX_CONTENT_BYTES {
            return Err(too_large(path));
        }
        let returns = Returns {
            path: path.to_string(),
            size_bytes: size as u64,
            diff: replaced(path, &old, at..after, &arguments.new_text, context)?,
        };
        let keep = TrashSpace::take(context, path, stamp.disk_bytes)?;
        if context.dry_run {
            return Ok(Outcome::new(format!("Would change {path}."), returns));
        }
        context.check()?;
        let target = Target::of(&located)?;
        let mut change = Change::begin(context, Self::NAME, &[path], keep);
        let mut staged = change.stage(&target, Some(file))?;
        let (before, rest) = old.as_bytes().split_at(at);
        for part in
            [before, arguments.new_text.as_bytes(), rest.get(after - at..).unwrap_or_default()]
        {
            staged.write_all(part).map_err(|error| io_failure(&error, Wanted::File, path))?;
        }
        change.place(&target, staged, Precondition::Unchanged(&stamp))?;
        change.finish();
        Ok(Outcome::new(format!("Changed {path}, {}.", counted(size as u64, "byte")), returns))
    }
}

/// Opens the file; in a preview only for reading.
fn open_as_needed(
    located: &Located,
    context: &FileContext<'_>,
) -> Result<(cap_std::fs::File, FileStamp), ToolError> {
    if !context.dry_run {
        return open(located);
    }
    let path = &located.asked;
    let name = located.name().ok_or_else(|| Wanted::File.missing(path))?;
    let (file, metadata) = regular::open(&located.dir, name, path, OpenOptions::new().read(true))?;
    refuse_hard_links(&metadata, path)?;
    refuse_unwritable(&located.dir, name, path)?;
    let stamp =
        FileStamp::of_file(&file).map_err(|error| io_failure(&error, Wanted::File, path))?;
    Ok((file, stamp))
}

fn text(
    file: &mut cap_std::fs::File,
    path: &DevicePath,
    context: &FileContext<'_>,
) -> Result<String, ToolError> {
    let size = file.metadata().map_or(0, |metadata| metadata.len());
    if size > MAX_CONTENT_BYTES as u64 {
        return Err(too_large(path));
    }
    reserve_memory(context, size + COMPARED_BYTES)?;
    // Reserves the whole size, so that the buffer is not copied as it grows.
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
    let mut left = file.take(MAX_CONTENT_BYTES as u64 + 1);
    loop {
        context.check()?;
        let read = (&mut left).take(READ_BYTES).read_to_end(&mut bytes);
        if read.map_err(|error| io_failure(&error, Wanted::File, path))? == 0 {
            break;
        }
    }
    if bytes.len() > MAX_CONTENT_BYTES {
        return Err(too_large(path));
    }
    String::from_utf8(bytes).map_err(|_| {
        ToolError::new(
            ErrorCode::PreconditionFailed,
            format!("{path} is not text in UTF-8, so no text in it can be replaced."),
        )
        .with("attempted_path", path.to_string())
    })
}

fn too_large(path: &DevicePath) -> ToolError {
    ToolError::new(
        ErrorCode::ResourceExhausted,
        format!("{path} is, or would be, larger than 16 MiB. Such files are not edited."),
    )
    .with("attempted_path", path.to_string())
}
