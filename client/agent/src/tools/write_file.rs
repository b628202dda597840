//! `write_file`. The new content appears all at once: it is written beside the file, brought to the
//! disk, and takes the file's name. A reader sees the old or the new, never a part.

mod atomic;
mod preview;
#[cfg(test)]
mod tests;

use std::sync::{Mutex, PoisonError};

use cap_fs_ext::MetadataExt;
use cap_std::fs::{Dir, File, Metadata, OpenOptions};
use orion_catalog::tools::write_file::{Arguments, Returns, WriteFile};
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

use super::create_directory::{make_all, missing_parent};
use super::{Context, Execute, Outcome, regular};
use crate::roots::{Located, refused};

/// The most text of one call, in bytes.
const MAX_CONTENT_BYTES: usize = 16 * 1024 * 1024;
/// Up to this size a file that is added to is written anew; beyond it, in place.
const MAX_COPIED_BYTES: u64 = 64 * 1024 * 1024;

/// Writers take turns, so that each begins from what the one before it left.
static WRITING: Mutex<()> = Mutex::new(());

/// The file as it is before.
struct Old {
    file: File,
    metadata: Metadata,
}

/// A file that is to be written, and how.
struct Job<'a> {
    name: &'a str,
    path: &'a DevicePath,
    old: Option<Old>,
    arguments: &'a Arguments,
}

impl Execute for WriteFile {
    fn run(arguments: Arguments, context: &Context<'_>) -> Result<Outcome<Returns>, ToolError> {
        if arguments.content.len() > MAX_CONTENT_BYTES {
            return Err(ToolError::new(
                ErrorCode::ResourceExhausted,
                "The content is larger than 16 MiB; write it in parts with append.",
            ));
        }
        let _turn = WRITING.lock().unwrap_or_else(PoisonError::into_inner);
        let located = context.locate(&arguments.path, Access::Write)?;
        regular::refuse_unfit(&located)?;
        let path = &located.asked;
        let (above, name) = match located.rest.split_last() {
            Some((name, above)) => (above, name),
            None => return Err(located.no_folder()),
        };
        if !above.is_empty() && !arguments.create_dirs {
            return Err(missing_parent(&located, context));
        }
        let old = old(&located, arguments.append)?;
        let job = Job { name, path, old, arguments: &arguments };
        let created = job.old.is_none();
        let mode = if arguments.append { "append" } else { "write" };
        let returns = |size_bytes, diff| Returns {
            path: path.to_string(),
            size_bytes,
            mode: mode.to_owned(),
            created,
            diff,
        };
        if context.dry_run {
            let (size, diff) = preview::preview(job)?;
            let what = if created { "make" } else { "change" };
            let message = format!("Would {what} {path}; it would then have {size} bytes.");
            return Ok(Outcome::new(message, returns(size, Some(diff))));
        }
        context.check()?;
        let made = make_all(&located.dir, above, path)?;
        let size = write(made.as_ref().unwrap_or(&located.dir), job, context)?;
        let what = if created { "Made" } else { "Wrote" };
        Ok(Outcome::new(format!("{what} {path}, {size} bytes."), returns(size, None)))
    }
}

/// Opens what is there. Opening it for writing asks the operating system whether it may be changed;
/// replacing it by its name alone would not.
fn old(located: &Located, append: bool) -> Result<Option<Old>, ToolError> {
    let Some(name) = located.name().filter(|_| located.found.is_some()) else {
        return Ok(None);
    };
    let path = &located.asked;
    let mut options = OpenOptions::new();
    options.read(true).write(true).append(append);
    let (file, metadata) = regular::open(&located.dir, name, path, &mut options)?;
    if metadata.nlink() > 1 {
        return Err(refused(
            path,
            format!(
                "{path} has other names (hard links), and they may lie outside the allowed paths; it is not written to. Write a new file instead."
            ),
            "device: hard links",
        ));
    }
    Ok(Some(Old { file, metadata }))
}

fn write(dir: &Dir, job: Job<'_>, context: &Context<'_>) -> Result<u64, ToolError> {
    match job.old {
        Some(old) if job.arguments.append && old.metadata.len() > MAX_COPIED_BYTES => {
            atomic::append(old.file, &job.arguments.content, job.path)
        }
        old => atomic::replace(dir, Job { old, ..job }, context),
    }
}
