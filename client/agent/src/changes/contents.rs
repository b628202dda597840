//! Stores and finds the trash content of a step. On the trash's own file system, content lies beside the
//! record. On another file system it lies in a hidden folder of the root there. If the root lies on yet
//! another one, it lies in a hidden folder beside its source.

use std::io;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, OpenOptions};
use orion_domain::{Access, CallId, ErrorCode, ToolError};

use super::swap::{rename_new, sync};
use super::{FileStamp, StepError, Target};
use crate::record::Record;
use crate::roots::{LOCAL_TRASH, Roots};
use crate::trash::{Trash, local, local_if_there, private_dir};

/// Largest file that is kept by copying, in bytes.
const MAX_COPIED_BYTES: u64 = 64 * 1024 * 1024;

/// The content of one step in the trash.
#[derive(Debug)]
pub(super) struct Content {
    pub(super) dir: Dir,
    pub(super) name: String,
    /// Path for a person.
    pub(super) at: String,
}

/// Returns the file name of a step's content.
fn name_of(step: usize) -> String {
    format!("content-{step}")
}

/// How content gets into the trash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrashMethod {
    /// Moves it away from its path.
    Move,
    /// Links it under a second name, or copies it.
    Link,
}

/// Puts the entry `name` into the trash as the content of the step at the target. Changes nothing if it
/// fails.
pub(super) fn keep(
    trash: &Trash,
    (call, step): (CallId, usize),
    target: &Target,
    (dir, name): (&Dir, &str),
    how: TrashMethod,
) -> Result<Content, StepError> {
    let failed = |error: &io::Error| StepError::io(error, target);
    let content = name_of(step);
    let put = |to: &Dir| match how {
        TrashMethod::Move => rename_new(dir, name, to, &content),
        TrashMethod::Link => dir.hard_link(name, to, &content),
    };
    let Some((place, _)) = trash.find(call).map_err(|error| failed(&error))? else {
        return Err(failed(&io::ErrorKind::NotFound.into()));
    };
    let mut first = None;
    match put(&place) {
        Ok(()) => {
            // The path uses the name that the folder has once the call is over.
            let at = trash.path().join(call.to_string()).join(&content);
            return Ok(Content { dir: place, name: content, at: at.display().to_string() });
        }
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {}
        Err(error) if how == TrashMethod::Move => return Err(failed(&error)),
        Err(error) => first = Some(error),
    }
    for (folder, at) in homes(target) {
        let home = match local(folder).map_err(|error| failed(&error))? {
            Some(home) => home,
            None if how == TrashMethod::Move => return Err(not_ours(&at)),
            // The file system has no private folders, so the content is copied.
            None => continue,
        };
        let home = private_dir(&home, &call.to_string()).map_err(|error| failed(&error))?;
        match put(&home) {
            Ok(()) => {
                let at = format!("{at}/{LOCAL_TRASH}/{call}/{content}");
                return Ok(Content { dir: home, name: content, at });
            }
            Err(error) => first = first.or(Some(error)),
        }
        tidy(folder, call);
    }
    if how == TrashMethod::Link {
        copy(dir, name, &place, &content).map_err(|error| failed(&error))?;
        let at = trash.path().join(call.to_string()).join(&content);
        return Ok(Content { dir: place, name: content, at: at.display().to_string() });
    }
    Err(failed(&first.unwrap_or_else(|| io::ErrorKind::CrossesDevices.into())))
}

/// Finds the content of a step in the trash.
pub(super) fn find(
    trash: &Trash,
    (call, step): (CallId, usize),
    target: &Target,
) -> io::Result<Option<(Content, FileStamp)>> {
    let name = name_of(step);
    let place = trash.find(call)?.map(|(place, _)| place);
    let below = |folder: &Dir| local_if_there(folder)?.open_dir_nofollow(call.to_string()).ok();
    let locals = homes(target).into_iter().filter_map(|(folder, _)| below(folder));
    for dir in place.into_iter().chain(locals) {
        if let Some(stamp) = FileStamp::at(&dir, &name)? {
            return Ok(Some((Content { dir, name, at: String::new() }, stamp)));
        }
    }
    Ok(None)
}

/// Removes a call's content from the hidden folders that are within reach.
pub(crate) fn forget_local_of(roots: &Roots, record: &Record) {
    const ANY: [Access; 3] = [Access::Write, Access::Delete, Access::Read];
    for noted in record.steps.iter().filter(|noted| noted.keeps()) {
        if let Ok(target) = Target::again(roots, noted.kept_from(), &ANY) {
            forget_local(&target, record.header.call);
        }
    }
}

fn forget_local(target: &Target, call: CallId) {
    for (folder, _) in homes(target) {
        if let Some(home) = local_if_there(folder) {
            match home.remove_dir_all(call.to_string()) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    tracing::warn!(%call, kind = %error.kind(), "something in a hidden trash could not be removed");
                }
                _ => tidy(folder, call),
            }
        }
    }
}

/// Moves trash content to a free name beside the target.
pub(super) fn bring(content: &Content, target: &Target, name: &str) -> io::Result<()> {
    match rename_new(&content.dir, &content.name, &target.dir, name) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            // The content was copied here because neither rename nor link was possible.
            copy(&content.dir, &content.name, &target.dir, name)?;
            content.dir.remove_file(&content.name)
        }
        other => other,
    }
}

/// Returns the folders that may hold a target's content.
fn homes(target: &Target) -> [(&Dir, String); 2] {
    let folder = target.real.parent().unwrap_or_else(|| target.real.clone()).to_string();
    [(&*target.root_dir, target.root.to_string()), (&target.dir, folder)]
}

/// Removes empty hidden folders.
fn tidy(folder: &Dir, call: CallId) {
    if let Some(home) = local_if_there(folder) {
        // Removal fails for folders with content, so they stay.
        let _ = home.remove_dir(call.to_string());
        let _ = folder.remove_dir(LOCAL_TRASH);
    }
}

fn copy(from: &Dir, name: &str, to: &Dir, new: &str) -> io::Result<()> {
    use cap_fs_ext::{FollowSymlinks, OpenOptionsFollowExt, OpenOptionsSyncExt};
    let mut options = OpenOptions::new();
    options.read(true).follow(FollowSymlinks::No).nonblock(true);
    let mut old = from.open_with(name, &options)?;
    let metadata = old.metadata()?;
    if !metadata.is_file() || metadata.len() > MAX_COPIED_BYTES {
        return Err(io::ErrorKind::CrossesDevices.into());
    }
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).follow(FollowSymlinks::No);
    #[cfg(unix)]
    {
        use cap_fs_ext::OpenOptionsExt;
        options.mode(0o600);
    }
    let mut file = to.open_with(new, &options)?;
    let copied = io::copy(&mut old, &mut file)
        .and_then(|_| super::rights::take_over(&file, &old, &old.metadata()?))
        .and_then(|()| file.sync_all());
    if copied.is_err() {
        let _ = to.remove_file(new);
    }
    sync(to);
    copied
}

fn not_ours(at: &str) -> StepError {
    StepError::Failed(ToolError::new(
        ErrorCode::PreconditionFailed,
        format!(
            "What is replaced or deleted has to be kept in {LOCAL_TRASH} there, but that belongs to someone else or others may read it ({at})."
        ),
    ).hint("rename or remove it on the device"))
}
