//! Executes `delete_file`.

use orion_catalog::Tool;
use orion_catalog::tools::delete_file::{Arguments, DeleteFile, Returns};
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

use super::counted::counted;
use super::delete_directory::{refuse_roots, unconfirmed};
use super::{FileContext, FileTool, Outcome, nearby};
use crate::changes::{Change, TrashSpace, lock_paths};
use crate::entry::Target;
use crate::roots::{FileKind, Located, Wanted};

impl FileTool for DeleteFile {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        if !arguments.confirm && !context.dry_run {
            return Err(unconfirmed(Self::NAME));
        }
        let path = &context.path(&arguments.path)?;
        let _lock = lock_paths(context, &[path])?;
        let located = context.roots.locate_entry(path, Access::Delete)?;
        refuse_roots(&located, context)?;
        refuse_unfit(&located, context)?;
        let target = Target::of(&located)?;
        let stamp = target.stamp()?.ok_or_else(|| Wanted::File.missing(path))?;
        let bytes = if stamp.what == FileKind::File { stamp.bytes } else { 0 };
        let size = counted(bytes, "byte");
        let returns = |trash_id| Returns { path: path.to_string(), bytes, trash_id };
        let what = if stamp.what == FileKind::Link { "the link " } else { "" };
        let room = TrashSpace::take(context, path, stamp.disk_bytes)?;
        if context.dry_run {
            let message = format!("Would move {what}{path} to the trash: {size}.");
            return Ok(Outcome::new(message, returns(None)));
        }
        context.check()?;
        let mut change = Change::begin(context, Self::NAME, &[path], room);
        change.discard(&target, &stamp, 1, stamp.disk_bytes)?;
        change.finish();
        if context.is_final.get() {
            return Ok(Outcome::new(format!("Deleted {what}{path}: {size}."), returns(None)));
        }
        let message =
            format!("Moved {what}{path} to the trash, where it stays for 7 days: {size}.");
        Ok(Outcome::new(message, returns(Some(context.call.to_string()))))
    }
}

/// Accepts files and links; the target of a link stays.
fn refuse_unfit(located: &Located, context: &FileContext<'_>) -> Result<(), ToolError> {
    let path = &located.asked;
    match (located.name(), located.found) {
        (Some(_), Some(FileKind::File | FileKind::Link)) => Ok(()),
        (Some(_), Some(FileKind::Folder)) => Err(other(
            ErrorCode::PreconditionFailed,
            path,
            "is a folder; use delete_directory, if it is meant",
        )),
        (Some(_), Some(FileKind::Special)) => Err(other(
            ErrorCode::NotSupported,
            path,
            "is a FIFO, a socket or a device; only regular files and links are deleted",
        )),
        (None, Some(_)) => Err(located.no_folder()),
        (_, None) => Err(nearby::suggest(Wanted::File.missing(path), located, context)),
    }
}

fn other(code: ErrorCode, path: &DevicePath, why: &str) -> ToolError {
    ToolError::new(code, format!("{path} {why}.")).with("attempted_path", path.to_string())
}

#[cfg(test)]
mod tests;
