//! Executes `write_file`. New content is staged beside the file, synced, and renamed to the file's name. So a
//! reader sees the old or the new content, never a part. Appended text is written behind the file's end, so
//! that appending a line to a large file takes the space of a line.

mod preview;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::io::{self, Read, Seek, SeekFrom, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use cap_fs_ext::MetadataExt;
use cap_std::fs::{File, Metadata, OpenOptions};
use orion_catalog::Tool;
use orion_catalog::tools::write_file::{Arguments, Encoding, Returns, WriteFile};
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

use super::counted::counted;
use super::create_directory::{missing_parent, refuse_depth};
use super::{FileContext, FileTool, Outcome, invalid, regular};
use crate::changes::{Change, Precondition, StepError, TrashSpace, lock_paths};
use crate::entry::{FileStamp, disk_bytes_at};
use crate::roots::{Located, Wanted, io_failure, refused};

/// Maximum content of one call, in bytes.
pub(super) const MAX_CONTENT_BYTES: usize = 16 * 1024 * 1024;
/// How often another process may win the race for the name.
const MAX_ATTEMPTS: usize = 4;

impl FileTool for WriteFile {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let content = content(&arguments)?;
        if content.len() > MAX_CONTENT_BYTES {
            return Err(ToolError::new(
                ErrorCode::ResourceExhausted,
                "The content is larger than 16 MiB.",
            )
            .hint("write it in parts with append"));
        }
        let path = context.path(&arguments.path)?;
        let _lock = lock_paths(context, &[&path])?;
        let mut tries = MAX_ATTEMPTS;
        loop {
            match write(&path, &arguments, &content, context) {
                Err(StepError::Taken(_) | StepError::Changed(_)) if tries > 1 => tries -= 1,
                done => return Ok(done?),
            }
        }
    }
}

/// Returns the bytes to write.
fn content(arguments: &Arguments) -> Result<Cow<'_, [u8]>, ToolError> {
    match arguments.encoding {
        Encoding::Utf8 => Ok(Cow::Borrowed(arguments.content.as_bytes())),
        Encoding::Base64 => STANDARD.decode(&arguments.content).map(Cow::Owned).map_err(|error| {
            invalid(format!("content is not base64: {error}."))
                .hint("use the standard alphabet with padding, without line ends")
        }),
    }
}

fn write(
    path: &DevicePath,
    arguments: &Arguments,
    content: &[u8],
    context: &FileContext<'_>,
) -> Result<Outcome<Returns>, StepError> {
    let located = context.roots.locate(path, Access::Write)?;
    regular::refuse_unfit(&located)?;
    if located.rest.is_empty() {
        return Err(located.no_folder().into());
    }
    if located.rest.len() > 1 && !arguments.create_dirs {
        return Err(missing_parent(&located, context).into());
    }
    refuse_depth(&located)?;
    context.risk.raise_if_starting_at(&located, path)?;
    let created = located.found.is_none();
    let mode = if arguments.append { "append" } else { "write" };
    let returns = |size_bytes: u64, diff: Option<String>| Returns {
        path: path.to_string(),
        size_bytes,
        mode: mode.to_owned(),
        created,
        diff,
    };
    // An append is undone by its length; a replaced file is kept whole.
    let replaced = if arguments.append { 0 } else { disk_bytes_at(&located)? };
    let room = TrashSpace::take(context, path, replaced)?;
    if context.dry_run {
        let (size, diff) = preview::preview(&located, content, arguments, context)?;
        let what = if created { "make" } else { "change" };
        let message = format!("Would {what} {path}; it would then have {}.", counted(size, "byte"));
        return Ok(Outcome::new(message, returns(size, Some(diff))));
    }
    context.check()?;
    let old = if created { None } else { Some(open(&located)?) };
    let held = old.as_ref().filter(|_| !arguments.append).map(|(_, stamp)| stamp.bytes);
    let content = match &old {
        Some((file, _)) if arguments.append && arguments.own_line => {
            on_own_line(file, content).map_err(|error| io_failure(&error, Wanted::File, path))?
        }
        _ => Cow::Borrowed(content),
    };
    let mut change = Change::begin(context, WriteFile::NAME, &[path], room);
    let target = change.parents(&located)?;
    let failed = |error: &std::io::Error| io_failure(error, Wanted::File, path);
    let size = match old {
        Some((file, stamp)) if arguments.append => {
            let metadata = file.metadata().map_err(|error| failed(&error))?;
            context.risk.raise_if_executable(&metadata, path)?;
            change.append(&target, &file, &content)?;
            stamp.bytes + content.len() as u64
        }
        old => {
            let mut staged = change.stage(&target, old.map(|(file, _)| file))?;
            staged.write_all(&content).map_err(|error| failed(&error))?;
            let size = staged.bytes();
            let over = if arguments.append { Precondition::Nothing } else { Precondition::AnyFile };
            change.place(&target, staged, over)?;
            size
        }
    };
    change.finish();
    let what = if created { "Made" } else { "Wrote" };
    let over = held.map_or_else(String::new, |held| {
        format!(", in place of the {} that it held", counted(held, "byte"))
    });
    let message = format!("{what} {path}, {}{over}.", counted(size, "byte"));
    Ok(Outcome::new(message, returns(size, None)))
}

/// Returns the text to append to a file so that it starts on a line of its own: with a line end before it
/// where the file does not end in one.
fn on_own_line<'a>(mut file: &File, content: &'a [u8]) -> io::Result<Cow<'a, [u8]>> {
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(0))? > 0 {
        file.seek(SeekFrom::End(-1))?;
        file.read_exact(&mut last)?;
    }
    Ok(match last {
        [b'\n'] => Cow::Borrowed(content),
        _ => Cow::Owned([b"\n", content].concat()),
    })
}

/// Opens an existing file. Opening for writing checks the permission to write; a replacement by name would
/// not.
pub(super) fn open(located: &Located) -> Result<(File, FileStamp), ToolError> {
    let path = &located.asked;
    let Some(name) = located.name() else { return Err(Wanted::File.missing(path)) };
    let mut options = OpenOptions::new();
    // Appended text goes behind what others append at the same time, never over it.
    options.read(true).append(true);
    let (file, metadata) = regular::open(&located.dir, name, path, &mut options)?;
    refuse_hard_links(&metadata, path)?;
    let stamp =
        FileStamp::of_file(&file).map_err(|error| io_failure(&error, Wanted::File, path))?;
    Ok((file, stamp))
}

/// Refuses a file with several names: some of them may lie where writing is not allowed.
pub(super) fn refuse_hard_links(metadata: &Metadata, path: &DevicePath) -> Result<(), ToolError> {
    if metadata.nlink() <= 1 {
        return Ok(());
    }
    Err(refused(
        path,
        format!(
            "{path} has other names (hard links), and they may lie outside the allowed paths; it is not written to. Write a new file instead."
        ),
        "device: hard links",
    ))
}

/// Checks in a preview, without opening the file for writing, whether the operating system would allow it.
pub(super) fn refuse_unwritable(
    dir: &cap_std::fs::Dir,
    name: &str,
    path: &DevicePath,
) -> Result<(), ToolError> {
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{Access, AtFlags, accessat};
        let flags = AtFlags::EACCESS | AtFlags::SYMLINK_NOFOLLOW;
        // An older kernel does not support the check; the call itself will fail then.
        if let Err(error @ (rustix::io::Errno::ACCESS | rustix::io::Errno::ROFS)) =
            accessat(dir, name, Access::WRITE_OK, flags)
        {
            return Err(io_failure(&error.into(), Wanted::File, path));
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = (dir, name, path);
    Ok(())
}
