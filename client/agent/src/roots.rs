//! The folders that the device lends, each held open as a handle. Every file that a tool touches is
//! reached from one of these handles, name by name, so that neither `..` nor a link can lead out
//! between a check and its use.
//!
//! Not here: whether a call may run at all. That is the guard's; this holds even where the guard errs.

#[cfg(target_os = "linux")]
mod beneath;
mod call;
mod denied;
mod failure;
mod located;
#[cfg(test)]
mod naive;
mod names;
mod open;
#[cfg(target_os = "linux")]
mod pseudo;
mod suspects;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use cap_std::fs::Dir;
use orion_domain::grants::{AllowedPath, DenyList, Scope};
use orion_domain::path::{PathPattern, covers};
use orion_domain::{Access, DevicePath, Places, ToolError};

#[cfg(target_os = "linux")]
pub(crate) use beneath::is_there as has_openat2;
use call::Call;
pub(crate) use failure::refused;
pub use failure::{Wanted, io_failure};
pub use located::{FileKind, Located};
use names::{Names, real_path};
pub(crate) use open::OpenRoot;
use open::Root;
#[cfg(target_os = "linux")]
pub(crate) use pseudo::is_pseudo;
use suspects::Suspects;

/// The folder in an allowed path into which Orion moves what it cannot move to its own trash. No
/// tool sees it.
pub const LOCAL_TRASH: &str = ".orion-trash";

/// What else Orion makes in allowed paths: what is written, until it has its name. Were it seen, a
/// tool could put into a folder that is being copied what may not be where that folder goes.
const STAGED: &str = ".orion-*.tmp";

/// Roots that are opened by whoever needs them first; others wait. So a file system that hangs holds
/// up the calls that touch files, and not the agent or the calls that touch none.
pub type GrantedPaths = LazyLock<Roots, Box<dyn FnOnce() -> Roots + Send>>;

/// The allowed folders of one device, for every call or for one.
#[derive(Debug)]
pub struct Roots {
    ground: Arc<GrantedRoots>,
    /// What was decided of the call that they are for, if they are for one.
    call: Option<Call>,
    #[cfg(test)]
    naive: bool,
}

/// What is lent, whatever the call.
#[derive(Debug)]
pub struct GrantedRoots {
    roots: Vec<Root>,
    /// What the ceiling and what the grants keep out.
    denied: [DenyList; 2],
    private: Vec<DevicePath>,
    /// What Orion makes for itself in allowed paths, by whatever name a file system takes for it.
    own: Vec<PathPattern>,
    names: Names,
    suspects: Suspects,
    deny_all: bool,
    read_only: bool,
}

impl Deref for Roots {
    type Target = GrantedRoots;

    fn deref(&self) -> &GrantedRoots {
        &self.ground
    }
}

impl Roots {
    /// What both scopes lend, in the order of `grants`; `private` is refused besides, for the
    /// agent's own state and configuration. A folder that is missing is looked for again at use.
    #[must_use]
    pub fn open(ceiling: &Scope, grants: &Scope, private: &[DevicePath]) -> Self {
        Self::open_named(ceiling, grants, private, &[])
    }

    /// The same, where the rules of a policy speak of the paths `named`: they may be links.
    #[must_use]
    pub fn open_named(
        ceiling: &Scope,
        grants: &Scope,
        private: &[DevicePath],
        named: &[DevicePath],
    ) -> Self {
        // Both end with the same built-in entries.
        let entries = || ceiling.denied.iter().chain(grants.denied.own());
        let lent = ceiling.allowed.iter().map(|allowed| &allowed.root);
        let kept = entries().filter_map(|entry| entry.pattern.root());
        let names = Names::new(lent, kept.chain(private).chain(named));
        let style = ceiling.allowed.first().map(|allowed| allowed.root.style());
        let own = style.map(|style| Places { style, workspace: None, home: None });
        let own = own.iter().flat_map(|places| {
            [LOCAL_TRASH, STAGED]
                .into_iter()
                .filter_map(|name| PathPattern::parse(places, &format!("**/{name}")).ok())
        });
        // What is lent by its name is lent by the name that it really has as well.
        let denied = [ceiling, grants].map(|scope| {
            let mut denied = scope.denied.clone();
            for AllowedPath { root, access } in &scope.allowed {
                denied.lift(&AllowedPath { root: names.real(root), access: access.clone() });
            }
            denied
        });
        let entries = entries().map(|entry| &entry.pattern);
        let mut ground = GrantedRoots {
            roots: Vec::new(),
            own: own.collect(),
            suspects: Suspects::new(entries, private.iter().chain(names.of_kept())),
            names,
            denied,
            private: private.to_vec(),
            deny_all: ceiling.deny_all_paths || grants.deny_all_paths,
            read_only: ceiling.read_only || grants.read_only,
        };
        for granted in &grants.allowed {
            for owned in &ceiling.allowed {
                let path = if covers(&owned.root, &granted.root) {
                    &granted.root
                } else if covers(&granted.root, &owned.root) {
                    &owned.root
                } else {
                    continue;
                };
                let access = granted.access.intersection(&owned.access).copied().collect();
                ground.add(path, &owned.root, access);
            }
        }
        let roots = Self {
            ground: Arc::new(ground),
            call: None,
            #[cfg(test)]
            naive: false,
        };
        for root in &roots.roots {
            // Opened early so that a folder swapped for a link later is not the one that is used.
            drop(roots.opened(root));
        }
        roots
    }

    /// Finds where a path leads, following links that stay inside its root.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED` for anything outside, denied, or behind a link that leaves, in words that
    /// do not depend on what is there; `DIRECTORY_NOT_FOUND` where the root itself is missing; what
    /// the operating system refuses.
    pub fn locate(&self, path: &DevicePath, access: Access) -> Result<Located, ToolError> {
        self.find(path, access, true)
    }

    /// The same, but a link in the last place is what is found, and not what it points at.
    ///
    /// # Errors
    /// As [`Roots::locate`].
    pub fn locate_entry(&self, path: &DevicePath, access: Access) -> Result<Located, ToolError> {
        self.find(path, access, false)
    }

    /// The same for a place by where it really is, as [`Located`] told before: it may be reached
    /// through a root that is a link.
    ///
    /// # Errors
    /// As [`Roots::locate`].
    pub(crate) fn locate_real(
        &self,
        real: &DevicePath,
        access: Access,
    ) -> Result<Located, ToolError> {
        #[cfg(test)]
        if self.naive {
            return naive::find(real, false);
        }
        let lending = self.roots.iter().filter(|root| root.access.contains(&access));
        let mut open: Vec<OpenRoot> = lending.filter_map(|root| self.opened(root)).collect();
        open.retain(|open| covers(&open.real, real));
        match open.iter().max_by_key(|open| open.real.components().len()) {
            Some(open) if !self.denies_at(real, access) => {
                let names = real.relative_to(&open.real).unwrap_or_default();
                let found = located::find(self, open, real, &names, access, false)?;
                self.held(found, access)
            }
            _ => self.find(real, access, false),
        }
    }

    fn find(
        &self,
        path: &DevicePath,
        access: Access,
        follow_last: bool,
    ) -> Result<Located, ToolError> {
        #[cfg(test)]
        if self.naive {
            return naive::find(path, follow_last);
        }
        let mut lending = self.granting(path, access);
        // The longest root first: it is the closest to what is meant, and has the fewest links to
        // follow. Where it is missing, a wider one may hold the place where it would be.
        lending.sort_by_key(|root| std::cmp::Reverse(root.path.components().len()));
        if lending.is_empty() || self.denies_at(path, access) {
            return Err(self.not_allowed(path, access));
        }
        for root in &lending {
            if let Some(open) = self.opened(root) {
                let names = path.relative_to(&root.path).unwrap_or_default();
                let found = located::find(self, &open, path, &names, access, follow_last)?;
                return self.held(found, access);
            }
        }
        let missing = lending.first().map_or(path, |root| &root.path);
        Err(Wanted::Directory.missing(missing))
    }

    fn granting(&self, path: &DevicePath, access: Access) -> Vec<&Root> {
        self.roots
            .iter()
            .filter(|root| root.access.contains(&access) && covers(&root.path, path))
            .collect()
    }

    /// Whether some root lends this access to this path and nothing keeps it out. Nothing is opened.
    #[must_use]
    pub fn grants(&self, path: &DevicePath, access: Access) -> bool {
        #[cfg(test)]
        if self.naive {
            return true;
        }
        !self.granting(path, access).is_empty() && !self.denies_at(path, access)
    }

    /// Whether a root is this path or lies beneath it.
    #[must_use]
    pub fn is_inside(&self, path: &DevicePath) -> bool {
        #[cfg(test)]
        if self.naive {
            return false;
        }
        let real = self.names.real(path);
        self.roots.iter().any(|root| {
            path.may_contain(&root.path) || real.may_contain(&self.names.real(&root.path))
        })
    }

    /// The roots that lend an access, as people read them.
    #[must_use]
    pub fn paths(&self, access: Access) -> Vec<String> {
        let lends = |root: &&Root| root.access.contains(&access);
        self.roots.iter().filter(lends).map(|root| root.path.to_string()).collect()
    }

    /// Every root, as people read them, in the order of the grants.
    #[must_use]
    pub fn all_paths(&self) -> Vec<String> {
        self.roots.iter().map(|root| root.path.to_string()).collect()
    }

    /// Whether anything may be written anywhere.
    #[must_use]
    pub fn writable(&self) -> bool {
        !self.read_only && self.roots.iter().any(|root| root.access.contains(&Access::Write))
    }

    /// The folders that are there, for the trash that lies in some of them.
    pub(crate) fn handles(&self) -> Vec<Arc<Dir>> {
        self.granted().map(|(dir, _)| dir).collect()
    }

    /// The folders that are there, each with what it is lent for.
    pub(crate) fn granted(&self) -> impl Iterator<Item = (Arc<Dir>, &BTreeSet<Access>)> {
        self.roots.iter().filter_map(|root| Some((self.opened(root)?.dir, &root.access)))
    }

    /// Whether a program, by its resolved path, lies where Orion may write.
    #[must_use]
    pub fn may_change(&self, program: &Path) -> bool {
        self.roots.iter().filter(|root| root.access.contains(&Access::Write)).any(|root| {
            let named = PathBuf::from(root.path.to_string());
            let real = std::fs::canonicalize(&named);
            program.starts_with(&named) || real.is_ok_and(|real| program.starts_with(real))
        })
    }

    /// The refusal of a path outside. Its words depend on the request and the grants alone.
    pub(crate) fn not_allowed(&self, path: &DevicePath, access: Access) -> ToolError {
        failure::not_allowed(path, access, self.paths(access))
    }
}
