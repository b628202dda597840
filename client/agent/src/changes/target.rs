//! One name in a folder that is held open: what a step is taken on.

use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use orion_domain::{Access, DevicePath, ToolError};

use super::record::Location;
use super::{FileStamp, StepError};
use crate::roots::{Located, Roots, Wanted, io_failure};

/// What a file that a path leads to takes on the disk, in bytes; nothing where none is there.
///
/// # Errors
/// What the operating system refuses.
pub(crate) fn disk_bytes_at(located: &Located) -> Result<u64, ToolError> {
    let Some(name) = located.name().filter(|_| located.found.is_some()) else { return Ok(0) };
    let print = FileStamp::at(&located.dir, name)
        .map_err(|error| io_failure(&error, Wanted::Path, &located.asked))?;
    Ok(print.map_or(0, |print| print.disk_bytes))
}

/// One name in a folder that is held open.
#[derive(Debug)]
pub(crate) struct Target {
    /// The folder that holds the name.
    pub(crate) dir: Dir,
    /// The name.
    pub(crate) name: String,
    /// The whole path, as it was named.
    pub(crate) path: DevicePath,
    /// The whole path as it really is.
    pub(crate) real: DevicePath,
    /// Where the root it lies beneath really is.
    pub(crate) root: DevicePath,
    /// That root.
    pub(crate) root_dir: Arc<Dir>,
}

impl Target {
    /// The last name of a path whose folder is there.
    ///
    /// # Errors
    /// Where the path is a folder that was entered, or more than the last name is missing.
    pub(crate) fn of(located: &Located) -> Result<Self, ToolError> {
        let path = &located.asked;
        let Some(name) = located.name() else {
            return Err(match located.rest.first() {
                Some(_) if located.found.is_none() => Wanted::Directory.missing(path),
                _ => located.no_folder(),
            });
        };
        let dir =
            located.dir.try_clone().map_err(|error| io_failure(&error, Wanted::Path, path))?;
        Self::new(located, dir, &located.real, name, path.clone())
    }

    /// A name in a folder beneath a located one.
    pub(super) fn new(
        located: &Located,
        dir: Dir,
        folder: &DevicePath,
        name: &str,
        path: DevicePath,
    ) -> Result<Self, ToolError> {
        let real = folder.join(name).map_err(|_| Wanted::Path.missing(&path))?;
        let (name, root_dir) = (name.to_owned(), Arc::clone(&located.root_dir));
        Ok(Self { dir, name, path, real, root: located.root.clone(), root_dir })
    }

    /// A place of which an earlier step tells, beneath a root that lends any of these.
    ///
    /// # Errors
    /// As [`Roots::locate_real`], and as [`Target::of`].
    pub(super) fn again(roots: &Roots, spot: &Location, any: &[Access]) -> Result<Self, ToolError> {
        let mut found = Err(Wanted::Path.missing(&spot.path));
        for access in any {
            found = roots.locate_real(&spot.real, *access);
            if found.is_ok() {
                break;
            }
        }
        let target = Self::of(&found?)?;
        Ok(Self { path: spot.path.clone(), ..target })
    }

    /// The folder that has the name, entered.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub(crate) fn entered(&self) -> Result<Located, ToolError> {
        let dir = self
            .dir
            .open_dir_nofollow(&self.name)
            .map_err(|error| io_failure(&error, Wanted::Directory, &self.path))?;
        Ok(Located {
            asked: self.path.clone(),
            dir,
            real: self.real.clone(),
            root: self.root.clone(),
            root_dir: Arc::clone(&self.root_dir),
            rest: Vec::new(),
            found: None,
        })
    }

    /// The same thing under another name, in another folder that is held open: as what it was there.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub(crate) fn moved_to(&self, dir: &Dir, name: &str) -> Result<Self, ToolError> {
        let dir = dir.try_clone().map_err(|error| io_failure(&error, Wanted::Path, &self.path))?;
        Ok(Self {
            dir,
            name: name.to_owned(),
            path: self.path.clone(),
            real: self.real.clone(),
            root: self.root.clone(),
            root_dir: Arc::clone(&self.root_dir),
        })
    }

    /// What the name stands for; none when it is free.
    ///
    /// # Errors
    /// What the operating system refuses.
    pub(crate) fn stamp(&self) -> Result<Option<FileStamp>, ToolError> {
        FileStamp::at(&self.dir, &self.name)
            .map_err(|error| io_failure(&error, Wanted::Path, &self.path))
    }

    /// The same, where something has to be.
    pub(super) fn see(&self) -> Result<FileStamp, StepError> {
        self.stamp()?.ok_or_else(|| StepError::Changed(self.path.clone()))
    }

    pub(super) fn spot(&self) -> Location {
        Location { path: self.path.clone(), real: self.real.clone() }
    }
}
