//! Writes a file from content that moves beside the call, for `upload_file` and `transfer_file`. The content is staged
//! beside the file, and gets the file's name when it is complete and its digest is right.

use std::io::Write;

use orion_catalog::{Content, MAX_PART_BYTES};
use orion_domain::{Access, DevicePath, Digest, ErrorCode, Hasher, ToolError};

use super::FileContext;
use super::copy_path::content::refuse_without_room;
use super::copy_path::ends::{CopySource, replaces};
use super::create_directory::refuse_depth;
use super::write_file::{open, refuse_hard_links};
use crate::call::reserve_memory;
use crate::changes::{Change, Precondition, Staged, TrashSpace, lock_paths};
use crate::entry::disk_bytes_at;
use crate::roots::{Located, Wanted, io_failure};
use crate::transfer::{ContentAnswer, ContentRequest};

/// What is to be written, and where.
pub(super) struct Wish<'a> {
    /// The tool of the call.
    pub(super) tool: &'static str,
    /// Where the content comes from.
    pub(super) content: Content,
    /// The file.
    pub(super) path: &'a DevicePath,
    /// Whether a file at the path may be replaced.
    pub(super) overwrite: bool,
    /// Whether missing folders are made.
    pub(super) create_dirs: bool,
    /// Size and digest of the content. None if the sender says them.
    pub(super) stated: Option<(u64, Digest)>,
}

/// What was written, or in a preview would be.
pub(super) struct Written {
    /// Size and digest of the content. None in a preview that does not know them.
    pub(super) content: Option<(u64, Digest)>,
    /// Whether a file is replaced.
    pub(super) replaced: bool,
}

/// Writes the file.
pub(super) fn receive(wish: &Wish<'_>, context: &FileContext<'_>) -> Result<Written, ToolError> {
    let path = wish.path;
    let located = context.roots.locate(path, Access::Write)?;
    let makes_folders = wish.create_dirs && located.rest.len() > 1 && located.found.is_none();
    let replaced = !makes_folders && replaces(&located, CopySource::File, wish.overwrite, context)?;
    refuse_depth(&located)?;
    context.risk.raise_if_starting_at(&located, path)?;
    if replaced {
        refuse_other_names(&located)?;
    }
    if let Some((size, _)) = wish.stated {
        refuse_too_large(size, &located, context)?;
    }
    let room = TrashSpace::take(context, path, disk_bytes_at(&located)?)?;
    if context.dry_run {
        return Ok(Written { content: wish.stated, replaced });
    }
    reserve_memory(context, 4 * MAX_PART_BYTES as u64)?;
    let old = if replaced { Some(open(&located)?) } else { None };
    let mut change = Change::begin(context, wish.tool, &[path], room);
    let target = change.parents(&located)?;
    let (old, stamp) = old.unzip();
    let staged = change.stage(&target, old)?;
    let (staged, digest) = fill(staged, wish, &located, context)?;
    let size = staged.bytes();
    // Calls on the path do not wait for the content, only for its name.
    let _lock = lock_paths(context, &[path])?;
    let over = stamp.as_ref().map_or(Precondition::Nothing, Precondition::Unchanged);
    change.place(&target, staged, over)?;
    change.finish();
    Ok(Written { content: Some((size, digest)), replaced })
}

/// Takes parts until the content is complete, and checks its digest.
fn fill(
    mut staged: Staged,
    wish: &Wish<'_>,
    located: &Located,
    context: &FileContext<'_>,
) -> Result<(Staged, Digest), ToolError> {
    let path = wish.path;
    let mut hasher = Hasher::default();
    let mut exchange = context.installation.transfers.begin(context.call, wish.content)?;
    let mut stated = wish.stated;
    while stated.is_none_or(|(size, _)| staged.bytes() < size) {
        match exchange.next(&|| context.check())? {
            ContentRequest::Write { offset, content, size } => {
                let has = staged.bytes();
                // A part that came before, or that another one has to come before, is not written.
                if !content.is_empty() && offset == has {
                    let most = stated.map_or(context.installation.transfers.max_bytes(), |it| it.0);
                    let after = has.saturating_add(content.len() as u64);
                    if after > most {
                        return Err(ToolError::new(
                            ErrorCode::ResourceExhausted,
                            format!("{path}: more than {most} bytes came."),
                        ));
                    }
                    if has == 0 {
                        refuse_too_large(size, located, context)?;
                    }
                    hasher.update(&content);
                    let failed = |error| io_failure(&error, Wanted::File, path);
                    staged.write_all(&content).map_err(failed)?;
                    let total = wish.stated.map_or(size, |(size, _)| size);
                    (context.progress)(after, Some(total).filter(|total| *total > 0), "bytes");
                }
                exchange.answer(ContentAnswer::Received(staged.bytes()));
            }
            ContentRequest::Done(Some(digest)) if wish.content == Content::FromDevice => {
                stated = Some((staged.bytes(), digest));
            }
            ContentRequest::Failed(error) => return Err(error),
            ContentRequest::Done(_) | ContentRequest::Read { .. } => {
                return Err(super::invalid("This call only takes content."));
            }
        }
    }
    let found = hasher.finish();
    match stated {
        Some((_, digest)) if digest == found => Ok((staged, found)),
        Some(_) | None => Err(ToolError::new(
            ErrorCode::PreconditionFailed,
            format!("{path}: the content that came has another SHA-256 than was stated, so nothing was written."),
        )
        .hint("copy the file again when nothing writes to it")
        .with("attempted_path", path.to_string())
        .with("sha256", found.to_string())),
    }
}

/// Refuses a file with several names, without opening it.
fn refuse_other_names(located: &Located) -> Result<(), ToolError> {
    let Some(name) = located.name() else { return Ok(()) };
    let metadata = located.dir.symlink_metadata(name);
    let metadata = metadata.map_err(|error| io_failure(&error, Wanted::File, &located.asked))?;
    refuse_hard_links(&metadata, &located.asked)
}

/// Refuses content that is larger than the owner allows, or than the disk has room for.
fn refuse_too_large(
    size: u64,
    located: &Located,
    context: &FileContext<'_>,
) -> Result<(), ToolError> {
    let most = context.installation.transfers.max_bytes();
    if size > most {
        return Err(ToolError::new(
            ErrorCode::ResourceExhausted,
            format!(
                "{}: the file has {size} bytes, and this device takes at most {most}.",
                located.asked
            ),
        )
        .hint("the owner sets the limit in agent.toml, under [transfers]")
        .with("attempted_path", located.asked.to_string()));
    }
    refuse_without_room(&located.dir, size, &located.asked)
}
