//! The walk from a root to a path: one name at a time, from handle to handle. Links are read and followed
//! here, never by the operating system, so the checked path is the path that is used.

use std::collections::VecDeque;
use std::io::ErrorKind;
use std::path::Component;
use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::{Dir, FileType};
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

#[cfg(target_os = "linux")]
use super::beneath;
use super::failure::link_leaves;
use super::{OpenRoot, Roots, Wanted, io_failure};

/// The most links on one path; more are most likely a loop.
const MAX_LINKS: usize = 40;

/// The result of walking a path.
#[derive(Debug)]
pub struct Located {
    /// The requested path.
    pub asked: DevicePath,
    /// Handle of the deepest existing folder on the path.
    pub dir: Dir,
    /// Real path of that folder.
    pub real: DevicePath,
    /// Real path of the root.
    pub root: DevicePath,
    /// Handle of the root.
    pub root_dir: Arc<Dir>,
    /// The names that follow `dir`. Empty if the path is that folder itself.
    pub rest: Vec<String>,
    /// What the first of `rest` is. None if it is missing; a link only if links were not to be followed.
    pub found: Option<FileKind>,
}

/// The kind of an entry at the end of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A regular file.
    File,
    /// A folder; only if the last name was not to be entered.
    Folder,
    /// A symbolic link; only if the last name was not to be entered.
    Link,
    /// A FIFO, a socket or a device.
    Special,
}

impl FileKind {
    /// Converts a file type.
    #[must_use]
    pub fn of(kind: FileType) -> Self {
        if kind.is_file() {
            Self::File
        } else if kind.is_dir() {
            Self::Folder
        } else if kind.is_symlink() {
            Self::Link
        } else {
            Self::Special
        }
    }
}

impl Located {
    /// Returns whether the path is an existing folder.
    #[must_use]
    pub fn is_folder(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns whether a link was followed below the root `real` on the way along `names`.
    #[must_use]
    pub(super) fn is_elsewhere(&self, real: &DevicePath, names: &[&str]) -> bool {
        let expected = names.iter().try_fold(real.clone(), |path, name| path.join(name)).ok();
        let mut rest = self.rest.iter();
        let found = rest.try_fold(self.real.clone(), |path, name| path.join(name)).ok();
        expected.is_none() || expected != found
    }

    /// Returns the last name if its folder exists. None if the path is that folder, or if more than the
    /// last name is missing.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        match self.rest.as_slice() {
            [name] => Some(name),
            _ => None,
        }
    }

    /// Returns the location if the path is a folder.
    ///
    /// # Errors
    /// `DIRECTORY_NOT_FOUND` if nothing is there, `PRECONDITION_FAILED` for anything but a folder.
    pub fn folder(self) -> Result<Self, ToolError> {
        match (self.rest.is_empty(), self.found) {
            (true, _) => Ok(self),
            (false, None) => Err(Wanted::Directory.missing(&self.asked)),
            (false, Some(_)) => Err(self.no_folder()),
        }
    }

    /// Returns the error for a path on which, or at whose end, something is not a folder.
    #[must_use]
    pub fn no_folder(&self) -> ToolError {
        let at = self.rest.first().and_then(|name| self.real.join(name).ok());
        ToolError::new(
            ErrorCode::PreconditionFailed,
            format!("{} is not a folder.", at.as_ref().unwrap_or(&self.real)),
        )
        .with("attempted_path", self.asked.to_string())
        .hint("name a folder, or use get_file_info to see what is there")
    }
}

/// Follows `names` from `root`: in one step if the kernel sees no link on the way, else one by one.
pub(super) fn find(
    roots: &Roots,
    root: &OpenRoot,
    asked: &DevicePath,
    names: &[&str],
    access: Access,
    follow_last: bool,
) -> Result<Located, ToolError> {
    #[cfg(target_os = "linux")]
    if let Some(found) = straight(roots, root, asked, names, access, follow_last) {
        return Ok(found);
    }
    walk(roots, root, asked, names, access, follow_last)
}

/// Follows a path that has no links and stays on its file system. Returns `None` for any other path, and for
/// a denied one, so that the denial has its message in one place.
#[cfg(target_os = "linux")]
fn straight(
    roots: &Roots,
    root: &OpenRoot,
    asked: &DevicePath,
    names: &[&str],
    access: Access,
    follow_last: bool,
) -> Option<Located> {
    let Some((&last, above)) = names.split_last() else {
        let dir = root.dir.try_clone().ok()?;
        return Some(located(root, asked, dir, root.real.clone(), Vec::new(), None));
    };
    let mut parent_real = root.real.clone();
    let mut real = root.real.clone();
    for (index, name) in names.iter().enumerate() {
        parent_real = real;
        real = parent_real.join(name).ok()?;
        // Below a folder that is not denied, only suspects can be denied.
        let on_way = index + 1 < names.len();
        if (index == 0 || roots.may_hide(name)) && roots.hides_at(&root.real, &real, access, on_way)
        {
            return None;
        }
    }
    let parent = if above.is_empty() {
        root.dir.try_clone().ok()?
    } else {
        beneath::open(&root.dir, above)?
    };
    let found = match parent.symlink_metadata(last) {
        Ok(metadata) => Some(FileKind::of(metadata.file_type())),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(_) => return None,
    };
    match (found, follow_last) {
        (Some(FileKind::Link), true) => None,
        (Some(FileKind::Folder), true) => {
            let dir = beneath::open(&parent, &[last])?;
            Some(located(root, asked, dir, real, Vec::new(), None))
        }
        _ => Some(located(root, asked, parent, parent_real, vec![last.to_owned()], found)),
    }
}

/// Follows `names` from `root`, one by one.
fn walk(
    roots: &Roots,
    root: &OpenRoot,
    asked: &DevicePath,
    names: &[&str],
    access: Access,
    follow_last: bool,
) -> Result<Located, ToolError> {
    let failed = |error: &std::io::Error| io_failure(error, Wanted::Path, asked);
    let top = root.dir.try_clone().map_err(|error| failed(&error))?;
    let mut above: Vec<(Dir, DevicePath)> = Vec::new();
    let mut here = (top, root.real.clone());
    let mut pending: VecDeque<String> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut links = 0;

    while let Some(name) = pending.pop_front() {
        if name == ".." {
            here = above.pop().ok_or_else(|| link_leaves(asked))?;
            continue;
        }
        let real = here.1.join(&name).map_err(|_| roots.not_allowed(asked, access))?;
        let last = pending.is_empty();
        if roots.hides_at(&root.real, &real, access, !last) {
            return Err(roots.not_allowed(asked, access));
        }
        let opened = if last && !follow_last {
            None
        } else {
            match here.0.open_dir_nofollow(&name) {
                Ok(dir) => {
                    above.push(std::mem::replace(&mut here, (dir, real)));
                    continue;
                }
                Err(error) => Some(error),
            }
        };
        let found = match here.0.symlink_metadata(&name) {
            Ok(metadata) => Some(FileKind::of(metadata.file_type())),
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            Err(error) => return Err(failed(&error)),
        };
        match (found, opened) {
            (Some(FileKind::Link), Some(_)) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(too_many_links(asked));
                }
                read_link(&here.0, &name, asked, &mut pending)?;
            }
            (Some(FileKind::Folder), Some(error)) if error.kind() == ErrorKind::NotADirectory => {
                // The entry was a link when it was opened, and has become a folder.
                links += 1;
                if links > MAX_LINKS {
                    return Err(failed(&error));
                }
                pending.push_front(name);
            }
            (Some(FileKind::Folder), Some(error)) => return Err(failed(&error)),
            (found, _) => {
                let mut rest = vec![name];
                rest.extend(pending);
                return end(roots, root, asked, here, rest, found, access);
            }
        }
    }
    let (dir, real) = here;
    if is_foreign(&dir, root) {
        return Err(roots.not_allowed(asked, access));
    }
    Ok(located(root, asked, dir, real, Vec::new(), None))
}

/// Returns whether a folder lies on a pseudo file system that is not the root's.
#[cfg(target_os = "linux")]
fn is_foreign(dir: &Dir, root: &OpenRoot) -> bool {
    use cap_fs_ext::MetadataExt;

    let device = |dir: &Dir| dir.dir_metadata().map(|metadata| metadata.dev()).ok();
    device(dir).is_none_or(|here| Some(here) != device(&root.dir)) && super::is_pseudo(dir)
}

#[cfg(not(target_os = "linux"))]
fn is_foreign(_: &Dir, _: &OpenRoot) -> bool {
    false
}

/// Replaces a link by the names of its target.
fn read_link(
    dir: &Dir,
    name: &str,
    asked: &DevicePath,
    pending: &mut VecDeque<String>,
) -> Result<(), ToolError> {
    let target = match dir.read_link_contents(name) {
        Ok(target) => target,
        // The entry was a link when it was looked up, and no longer is one.
        Err(error) if error.kind() == ErrorKind::InvalidInput => {
            pending.push_front(name.to_owned());
            return Ok(());
        }
        Err(error) => return Err(io_failure(&error, Wanted::Path, asked)),
    };
    for component in target.components().rev() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => pending.push_front("..".to_owned()),
            Component::Normal(name) => {
                let name = name.to_str().ok_or_else(|| link_leaves(asked))?;
                pending.push_front(name.to_owned());
            }
            Component::RootDir | Component::Prefix(_) => return Err(link_leaves(asked)),
        }
    }
    Ok(())
}

/// Ends the walk at an entry that cannot be entered.
fn end(
    roots: &Roots,
    root: &OpenRoot,
    asked: &DevicePath,
    (dir, real): (Dir, DevicePath),
    rest: Vec<String>,
    found: Option<FileKind>,
    access: Access,
) -> Result<Located, ToolError> {
    if is_foreign(&dir, root) {
        return Err(roots.not_allowed(asked, access));
    }
    // A link to `missing/../x` leads nowhere if `missing` does not exist.
    if rest.iter().any(|name| name == "..") {
        return Err(Wanted::Path.missing(asked));
    }
    let mut whole = real.clone();
    for (index, name) in rest.iter().enumerate() {
        whole = whole.join(name).map_err(|_| roots.not_allowed(asked, access))?;
        if roots.hides_at(&root.real, &whole, access, index + 1 < rest.len()) {
            return Err(roots.not_allowed(asked, access));
        }
    }
    Ok(located(root, asked, dir, real, rest, found))
}

fn located(
    root: &OpenRoot,
    asked: &DevicePath,
    dir: Dir,
    real: DevicePath,
    rest: Vec<String>,
    found: Option<FileKind>,
) -> Located {
    let (asked, root_dir) = (asked.clone(), Arc::clone(&root.dir));
    Located { asked, dir, real, root: root.real.clone(), root_dir, rest, found }
}

fn too_many_links(asked: &DevicePath) -> ToolError {
    ToolError::new(
        ErrorCode::PreconditionFailed,
        format!("{asked} goes through more than {MAX_LINKS} links, which is most likely a loop."),
    )
    .hint("name the place itself")
    .with("attempted_path", asked.to_string())
}
