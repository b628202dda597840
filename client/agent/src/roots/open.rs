//! The handles of the lent folders: opened once, and looked at again at each use.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

use cap_fs_ext::MetadataExt;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use orion_domain::{Access, DevicePath};

#[cfg(target_os = "linux")]
use super::beneath;
use super::{GrantedRoots, Roots, located, real_path};

/// One allowed folder.
#[derive(Debug)]
pub(super) struct Root {
    pub(super) path: DevicePath,
    pub(super) access: BTreeSet<Access>,
    /// The folder of the ceiling that this one is opened beneath: a granted path must not lead out
    /// of what the owner lends, wherever its links point.
    base: DevicePath,
    open: Mutex<Option<OpenRoot>>,
}

/// A root that is there.
#[derive(Debug, Clone)]
pub(crate) struct OpenRoot {
    /// Where it is, once the links in a granted path are followed.
    pub(crate) real: DevicePath,
    pub(crate) dir: Arc<Dir>,
}

impl GrantedRoots {
    /// One more folder, opened beneath `base`; with more access, where it is there already.
    pub(super) fn add(&mut self, path: &DevicePath, base: &DevicePath, access: BTreeSet<Access>) {
        if access.is_empty() {
            return;
        }
        if let Some(known) = self.roots.iter_mut().find(|root| root.path == *path) {
            known.access.extend(access);
            return;
        }
        self.roots.push(Root {
            path: path.clone(),
            access,
            base: base.clone(),
            open: Mutex::new(None),
        });
    }
}

impl Roots {
    /// The handle of a root, as long as it is the folder that stands at its path; where another one
    /// stands there now, that one. A link that took its place is not followed to anywhere else.
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

/// The folder at `base`, which was found to be `real`. Judged is where it was; if it leads elsewhere
/// since, that has to be judged first.
fn open_base(base: &DevicePath, real: &DevicePath) -> Option<Dir> {
    let has_moved = || real_path(base) != *real;
    if base != real && has_moved() {
        return None;
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::io::Errno;

        // A path that had no links has none still if the kernel finds none.
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

/// Whether two handles are of one folder.
fn is_same(one: &Dir, other: &Dir) -> bool {
    let identity = |dir: &Dir| dir.dir_metadata().map(|it| (it.dev(), it.ino())).ok();
    identity(one).is_some_and(|one| Some(one) == identity(other))
}
