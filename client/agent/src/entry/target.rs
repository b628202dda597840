//! One name in an open folder, the target of a step.

use std::sync::Arc;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use orion_domain::{Access, DevicePath, ToolError};
use serde::{Deserialize, Serialize};

use super::FileStamp;
use crate::roots::{Located, Roots, Wanted, io_failure};

/// A path as named and as resolved.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Location {
    /// As the call names it, or as far as it can be named.
    pub(crate) path: DevicePath,
    /// With links resolved.
    pub(crate) real: DevicePath,
}

/// Returns the bytes on the disk of the file at a path. 0 if there is no file.
///
/// # Errors
/// Errors of the operating system.
pub(crate) fn disk_bytes_at(located: &Located) -> Result<u64, ToolError> {
    let Some(name) = located.name().filter(|_| located.found.is_some()) else { return Ok(0) };
    let stamp = FileStamp::at(&located.dir, name)
        .map_err(|error| io_failure(&error, Wanted::Path, &located.asked))?;
    Ok(stamp.map_or(0, |stamp| stamp.disk_bytes))
}

/// One name in an open folder.
#[derive(Debug)]
pub(crate) struct Target {
    /// The folder that holds the name.
    pub(crate) dir: Dir,
    /// The name.
    pub(crate) name: String,
    /// The whole path as the call names it.
    pub(crate) path: DevicePath,
    /// The whole path with links resolved.
    pub(crate) real: DevicePath,
    /// The resolved path of the root above it.
    pub(crate) root: DevicePath,
    /// The open root.
    pub(crate) root_dir: Arc<Dir>,
}

impl Target {
    /// Returns the target of a path whose parent folder exists.
    ///
    /// # Errors
    /// If the path is a folder that was opened, or if more than the last name is missing.
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

    /// Returns a name in a folder below a located path.
    pub(crate) fn new(
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

    /// Returns the target of an earlier step's location, below a root that grants any of these accesses.
    ///
    /// # Errors
    /// As [`Roots::locate_real`], and as [`Target::of`].
    pub(crate) fn again(roots: &Roots, at: &Location, any: &[Access]) -> Result<Self, ToolError> {
        let mut found = Err(Wanted::Path.missing(&at.path));
        for access in any {
            found = roots.locate_real(&at.real, *access);
            if found.is_ok() {
                break;
            }
        }
        let target = Self::of(&found?)?;
        Ok(Self { path: at.path.clone(), ..target })
    }

    /// Opens the folder that has the name.
    ///
    /// # Errors
    /// Errors of the operating system.
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

    /// Returns this entry under another name in another open folder, with its original paths.
    ///
    /// # Errors
    /// Errors of the operating system.
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

    /// Returns the stamp of the name. `None` if the name is free.
    ///
    /// # Errors
    /// Errors of the operating system.
    pub(crate) fn stamp(&self) -> Result<Option<FileStamp>, ToolError> {
        FileStamp::at(&self.dir, &self.name)
            .map_err(|error| io_failure(&error, Wanted::Path, &self.path))
    }

    pub(crate) fn spot(&self) -> Location {
        Location { path: self.path.clone(), real: self.real.clone() }
    }
}
