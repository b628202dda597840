//! Executes `delete_directory`.

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, Metadata};
use orion_catalog::Tool;
use orion_catalog::tools::delete_directory::{Arguments, DeleteDirectory, Returns};
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

use super::counted::counted;
use super::{FileContext, FileTool, Outcome, nearby};
use crate::changes::{Change, TrashSpace, lock_paths};
use crate::entry::{FileStamp, Target, disk_bytes};
use crate::roots::{FileKind, Located, Wanted, io_failure, refused};
use crate::walk::{Mode, Next, walk};

/// Maximum number of names in a preview.
const FIRST_ENTRIES: usize = 20;

impl FileTool for DeleteDirectory {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        if !arguments.confirm && !context.dry_run {
            return Err(unconfirmed(Self::NAME));
        }
        let path = context.path(&arguments.path)?;
        let _lock = lock_paths(context, &[&path])?;
        let located = context.roots.locate_entry(&path, Access::Delete)?;
        refuse_roots(&located, context)?;
        let name = folder_name(&located, context)?;
        let real = located.real.join(name).map_err(|_| Wanted::Directory.missing(&path))?;
        let dir = located
            .dir
            .open_dir_nofollow(name)
            .map_err(|error| io_failure(&error, Wanted::Directory, &path))?;
        let stamp = FileStamp::of_folder(&dir)
            .map_err(|error| io_failure(&error, Wanted::Directory, &path))?;
        let count = count(&located, dir, &real, context)?;
        if count.entries > 1 && !arguments.recursive {
            return Err(not_empty(&path, count.entries - 1));
        }
        let Count { entries, bytes, disk_bytes, first } = count;
        let returns = |trash_id, first_entries| Returns {
            path: path.to_string(),
            entries,
            bytes,
            trash_id,
            first_entries,
        };
        let what = match entries {
            1 => "an empty folder".to_owned(),
            _ => format!("{entries} files and folders, {}", counted(bytes, "byte")),
        };
        let room = TrashSpace::take(context, &path, disk_bytes)?;
        if context.dry_run {
            let message = format!("Would move {path} to the trash: {what}.");
            return Ok(Outcome::new(message, returns(None, first)));
        }
        context.check()?;
        let target = Target::of(&located)?;
        let mut change = Change::begin(context, Self::NAME, &[&path], room);
        change.discard(&target, &stamp, entries, disk_bytes)?;
        change.finish();
        if context.is_final.get() {
            return Ok(Outcome::new(format!("Deleted {path}: {what}."), returns(None, Vec::new())));
        }
        let message = format!("Moved {path} to the trash, where it stays for 7 days: {what}.");
        Ok(Outcome::new(message, returns(Some(context.call.to_string()), Vec::new())))
    }
}

/// Returns the error for a missing `confirm: true`.
pub(super) fn unconfirmed(tool: &str) -> ToolError {
    ToolError::new(
        ErrorCode::ConfirmationRequired,
        format!("{tool} deletes nothing without confirm: true."),
    )
}

/// Refuses to delete an allowed path, because grants depend on it.
pub(super) fn refuse_roots(located: &Located, context: &FileContext<'_>) -> Result<(), ToolError> {
    let path = &located.asked;
    let real = located.name().and_then(|name| located.real.join(name).ok());
    if located.is_folder()
        || context.roots.is_inside(path)
        || real.is_some_and(|real| context.roots.is_inside(&real))
    {
        return Err(refused(
            path,
            format!("{path} is an allowed path itself, or holds one, and stays."),
            "device: paths",
        )
        .hint("name a folder inside it"));
    }
    Ok(())
}

/// Returns the name of the folder to delete, and refuses anything but a folder.
fn folder_name<'a>(located: &'a Located, context: &FileContext<'_>) -> Result<&'a str, ToolError> {
    let missing = || Wanted::Directory.missing(&located.asked);
    match (located.name(), located.found) {
        (Some(name), Some(FileKind::Folder)) => Ok(name),
        (Some(_), Some(FileKind::Link)) => Err(ToolError::new(
            ErrorCode::PreconditionFailed,
            format!("{} is a link. Only folders are deleted.", located.asked),
        )
        .hint("name the folder that the link leads to")
        .with("attempted_path", located.asked.to_string())),
        (Some(_), Some(FileKind::File | FileKind::Special)) => {
            Err(ToolError { message: format!("{} is not a folder.", located.asked), ..missing() })
        }
        (_, None) => Err(nearby::suggest(missing(), located, context)),
        (None, Some(_)) => Err(located.no_folder()),
    }
}

struct Count {
    entries: u64,
    bytes: u64,
    /// Bytes used on the disk.
    disk_bytes: u64,
    first: Vec<String>,
}

/// Counts what would be deleted, the folder included. Refuses a mounted file system and what the walk
/// refuses.
fn count(
    located: &Located,
    dir: Dir,
    real: &DevicePath,
    context: &FileContext<'_>,
) -> Result<Count, ToolError> {
    let path = &located.asked;
    let device = dir.dir_metadata().map_err(|error| io_failure(&error, Wanted::Directory, path))?;
    let start = Located {
        asked: path.clone(),
        dir,
        real: real.clone(),
        root: located.root.clone(),
        root_dir: located.root_dir.clone(),
        rest: Vec::new(),
        found: None,
    };
    let mut count = Count { entries: 1, bytes: 0, disk_bytes: 0, first: Vec::new() };
    walk(&start, Mode::Whole, context, &mut |visit| {
        let Some(metadata) = visit.metadata() else { return Ok(Next::On) };
        if file_system(&metadata) != file_system(&device) {
            return Err(ToolError::new(
                ErrorCode::PreconditionFailed,
                format!("Another file system is mounted inside {path}."),
            )
            .hint("unmount it first"));
        }
        count.entries += 1;
        count.disk_bytes = count.disk_bytes.saturating_add(disk_bytes(&metadata));
        if visit.what == FileKind::File {
            count.bytes = count.bytes.saturating_add(metadata.len());
        }
        if count.first.len() < FIRST_ENTRIES {
            count.first.extend(visit.path().map(|path| path.to_string()));
        }
        Ok(Next::On)
    })?;
    Ok(count)
}

/// Returns the file system of an entry. On Windows a mount is a junction, which Orion treats as a link.
#[cfg(unix)]
fn file_system(metadata: &Metadata) -> Option<u64> {
    Some(cap_fs_ext::MetadataExt::dev(metadata))
}

#[cfg(not(unix))]
fn file_system(_: &Metadata) -> Option<u64> {
    None
}

fn not_empty(path: &DevicePath, entries: u64) -> ToolError {
    ToolError::new(
        ErrorCode::NotEmpty,
        format!(
            "{path} is not empty: it holds {}.",
            if entries == 1 {
                "one file or folder".to_owned()
            } else {
                format!("{entries} files and folders")
            }
        ),
    )
    .hint("set `recursive` to true if they are meant as well")
    .with("attempted_path", path.to_string())
    .with("entries", entries)
}

#[cfg(test)]
mod tests;
