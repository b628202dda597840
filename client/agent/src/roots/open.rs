//! The handles of the granted folders: opened once, and checked again at each use.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use cap_fs_ext::MetadataExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use orion_domain::path::covers;
use orion_domain::{Access, DevicePath};

#[cfg(target_os = "linux")]
use super::beneath;
use super::{GrantedRoots, Roots, located, real_path};

/// One allowed folder.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) path: DevicePath,
    /// The only path in the folder that is granted, with what it contains. No link on the way to it is
    /// followed. `None` for the whole folder.
    pub(super) only: Option<DevicePath>,
    pub(super) access: BTreeSet<Access>,
    /// The folder of the ceiling beneath which this one is opened: a granted path must not lead out of the
    /// owner's folder, wherever its links point.
    pub(super) base: DevicePath,
    pub(super) open: Mutex<Option<OpenRoot>>,
}

impl Root {
    /// Returns whether the root covers a path, whatever the access.
    pub(super) fn covers(&self, path: &DevicePath) -> bool {
        covers(&self.path, path) && self.only.as_ref().is_none_or(|only| only.contains(path))
    }

    /// Returns whether a real path below this root, which is open at `at`, is granted.
    pub(super) fn reaches(&self, at: &DevicePath, real: &DevicePath) -> bool {
        let Some(only) = &self.only else { return true };
        let names = only.relative_to(&self.path).unwrap_or_default();
        let only = names.iter().try_fold(at.clone(), |path, name| path.join(name));
        only.is_ok_and(|only| only.contains(real))
    }

    /// Returns the path that is granted.
    pub(super) fn granted(&self) -> &DevicePath {
        self.only.as_ref().unwrap_or(&self.path)
    }
}

/// A root that exists.
#[derive(Debug, Clone)]
pub(crate) struct OpenRoot {
    /// The path with the links of a granted path resolved.
    pub(crate) real: DevicePath,
    pub(crate) dir: Arc<Dir>,
}

impl GrantedRoots {
    /// Adds a folder that is opened beneath `base`. If it is added already, adds the access.
    pub(super) fn add(
        &mut self,
        path: &DevicePath,
        base: &DevicePath,
        only: Option<&DevicePath>,
        access: BTreeSet<Access>,
    ) {
        if access.is_empty() {
            return;
        }
        let is_same = |root: &&mut Root| root.path == *path && root.only.as_ref() == only;
        if let Some(known) = self.roots.iter_mut().find(is_same) {
            known.access.extend(access);
            return;
        }
        self.roots.push(Root {
            path: path.clone(),
            only: only.cloned(),
            access,
            base: base.clone(),
            open: Mutex::new(None),
        });
    }
}

impl Roots {
    /// Returns the handle of a root while it is the folder at its path, else the folder that is there now.
    /// A link in its place is not followed to another place.
    pub(super) fn opened(&self, root: &Root) -> Option<OpenRoot> {
        let mut held = root.open.lock().unwrap_or_else(PoisonError::into_inner);
        let found = self.open_root(root)?;
        match &*held {
            Some(open) if open.real != found.real => return None,
            Some(open) if is_same(&open.dir, &found.dir) => {}
            Some(_) | None => *held = Some(found),
        }
        held.clone()
    }

    fn open_root(&self, root: &Root) -> Option<OpenRoot> {
        let base = open_base(&root.base, self.names.of_granted(&root.base)?)?;
        let base = OpenRoot { real: root.base.clone(), dir: Arc::new(base) };
        let names = root.path.relative_to(&root.base)?;
        let access = *root.access.first()?;
        let found = located::find(self, &base, &root.path, &names, access, true).ok()?;
        found.is_folder().then(|| OpenRoot { real: found.real, dir: Arc::new(found.dir) })
    }
}

/// Opens the folder at `base`, whose real path was `real` when it was checked. Returns `None` if it leads
/// elsewhere since: the new place is not checked.
fn open_base(base: &DevicePath, real: &DevicePath) -> Option<Dir> {
    let has_moved = || real_path(base) != *real;
    if base != real && has_moved() {
        return None;
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::io::Errno;

        // If the kernel finds no link on the path, it still leads to the same place.
        match beneath::open_absolute(&real.to_string()) {
            Err(Errno::NOSYS | Errno::PERM) => {}
            opened => return opened.ok(),
        }
    }
    if has_moved() {
        return None;
    }
    Dir::open_ambient_dir(real.to_string(), ambient_authority()).ok()
}

/// Returns whether two handles are of the same folder.
fn is_same(one: &Dir, other: &Dir) -> bool {
    let identity = |dir: &Dir| dir.dir_metadata().map(|it| (it.dev(), it.ino())).ok();
    identity(one).is_some_and(|one| Some(one) == identity(other))
}
