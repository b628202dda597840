//! The granted folders, each held open as a handle. Every file that a tool touches is reached from one of
//! these handles, name by name, so that neither `..` nor a link can lead out between a check and its use.
//!
//! Does not decide whether a call may run: the guard does. This layer holds even if the guard is wrong.

#[cfg(target_os = "linux")]
mod beneath;
mod call;
mod denied;
mod failure;
#[cfg(target_os = "linux")]
mod ground;
mod located;
#[cfg(test)]
mod naive;
mod names;
mod open;
#[cfg(target_os = "linux")]
mod pseudo;
pub(crate) mod regular;
#[cfg(target_os = "linux")]
mod sent;
mod suspects;
#[cfg(test)]
mod tests;

use std::ops::Deref;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use cap_std::fs::Dir;
use orion_domain::grants::{AllowedPath, DenyList, Scope};
use orion_domain::path::{PathPattern, covers};
use orion_domain::services::Service;
use orion_domain::{Access, CallId, DevicePath, Places, ToolError};

#[cfg(target_os = "linux")]
pub(crate) use beneath::is_there as has_openat2;
use call::Call;
pub(crate) use failure::refused;
pub use failure::{Wanted, io_failure};
#[cfg(target_os = "linux")]
pub(crate) use ground::Search;
pub use located::{FileKind, Located};
pub(crate) use names::ordinary;
use names::{Names, real_path};
pub(crate) use open::OpenRoot;
use open::Root;
#[cfg(target_os = "linux")]
pub(crate) use pseudo::is_pseudo;
#[cfg(target_os = "linux")]
pub(crate) use sent::{GrantedFolder, SentRoots};
use suspects::Suspects;

/// The folder in an allowed path for files that Orion cannot move to its own trash. No tool sees it.
pub const LOCAL_TRASH: &str = ".orion-trash";

/// Orion's temporary files in allowed paths. If tools could see them, a tool could put something into a
/// folder that is being copied, although it may not be where that folder goes.
const STAGED: &str = ".orion-*.tmp";

/// Returns the name of a call's temporary file, which matches [`STAGED`].
pub(crate) fn staged_name(call: CallId) -> String {
    format!(".orion-{call}.tmp")
}

/// Returns whether a name is that of a temporary file of a call.
#[cfg(target_os = "linux")]
fn is_staged(name: &str) -> bool {
    let call = name.strip_prefix(".orion-").and_then(|rest| rest.strip_suffix(".tmp"));
    call.is_some_and(|call| call.parse::<CallId>().is_ok())
}

/// Roots that are opened on first use, while other users wait. So a hanging file system blocks only the
/// calls that touch files, not the agent or other calls.
pub type GrantedPaths = LazyLock<Roots, Box<dyn FnOnce() -> Roots + Send>>;

/// The allowed folders of one device, for every call or for one.
#[derive(Debug)]
pub struct Roots {
    ground: Arc<GrantedRoots>,
    /// The decision on the call that these roots are for. None if they are for every call.
    call: Option<Call>,
    #[cfg(test)]
    naive: bool,
}

/// The granted folders and deny lists that are the same for every call.
#[derive(Debug)]
pub struct GrantedRoots {
    roots: Vec<Root>,
    /// The deny lists of the ceiling and of the grants.
    denied: [DenyList; 2],
    private: Vec<DevicePath>,
    /// Patterns of Orion's own files in allowed paths, by every name that a file system accepts for them.
    own: Vec<PathPattern>,
    names: Names,
    suspects: Suspects,
    deny_all: bool,
    read_only: bool,
    /// The services that both the ceiling and the grants list.
    services: Vec<Service>,
}

impl Deref for Roots {
    type Target = GrantedRoots;

    fn deref(&self) -> &GrantedRoots {
        &self.ground
    }
}

impl Roots {
    /// Opens the folders that both scopes allow, in the order of `grants`; `private` is denied as well, for
    /// the agent's own state and configuration. A missing folder is looked up again at each use.
    #[must_use]
    pub fn open(ceiling: &Scope, grants: &Scope, private: &[DevicePath]) -> Self {
        Self::open_named(ceiling, grants, private, &[])
    }

    /// Opens the same folders for a policy whose rules name the paths `named`, which may be links.
    #[must_use]
    pub fn open_named(
        ceiling: &Scope,
        grants: &Scope,
        private: &[DevicePath],
        named: &[DevicePath],
    ) -> Self {
        // Both lists end with the same built-in entries.
        let entries = || ceiling.denied.iter().chain(grants.denied.own());
        let owned = ceiling.allowed.iter().map(|allowed| &allowed.root);
        let kept = entries().filter_map(|entry| entry.pattern.root());
        let names = Names::new(owned, kept.chain(private).chain(named));
        let style = ceiling.allowed.first().map(|allowed| allowed.root.style());
        let own = style.map(Places::bare);
        let own = own.iter().flat_map(|places| {
            [LOCAL_TRASH, STAGED]
                .into_iter()
                .filter_map(|name| PathPattern::parse(places, &format!("**/{name}")).ok())
        });
        // A folder that is granted by its name is granted by its real name as well.
        let denied = [ceiling, grants].map(|scope| {
            let mut denied = scope.denied.clone();
            // What is granted for one path only lifts no entry.
            for AllowedPath { root, only: _, access } in
                scope.allowed.iter().filter(|allowed| allowed.only.is_none())
            {
                let (root, access) = (names.real(root), access.clone());
                denied.lift(&AllowedPath { root, only: None, access });
            }
            denied
        });
        let entries = entries().map(|entry| &entry.pattern);
        let mut shared = GrantedRoots {
            roots: Vec::new(),
            own: own.collect(),
            suspects: Suspects::new(entries, private.iter().chain(names.of_kept())),
            names,
            denied,
            private: private.to_vec(),
            deny_all: ceiling.deny_all_paths || grants.deny_all_paths,
            read_only: ceiling.read_only || grants.read_only,
            services: grants.services_with(ceiling),
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
                shared.add(path, &owned.root, granted.only.as_ref(), access);
            }
        }
        let roots = Self {
            ground: Arc::new(shared),
            call: None,
            #[cfg(test)]
            naive: false,
        };
        for root in &roots.roots {
            // Opened early, so that a folder swapped for a link later is not used.
            drop(roots.opened(root));
        }
        roots
    }

    /// Returns the services that may be read.
    #[must_use]
    pub fn services(&self) -> &[Service] {
        &self.services
    }

    /// Finds where a path leads, following links that stay inside its root.
    ///
    /// # Errors
    /// `PATH_NOT_ALLOWED` for a path that is outside, denied, or behind a link that leaves; its message
    /// does not depend on what is there. `DIRECTORY_NOT_FOUND` if the root itself is missing. Errors of
    /// the operating system.
    pub fn locate(&self, path: &DevicePath, access: Access) -> Result<Located, ToolError> {
        self.find(path, access, true)
    }

    /// Finds where a path leads, without following a link at its end.
    ///
    /// # Errors
    /// As [`Roots::locate`].
    pub fn locate_entry(&self, path: &DevicePath, access: Access) -> Result<Located, ToolError> {
        self.find(path, access, false)
    }

    /// Finds a real path, as an earlier [`Located`] returned it. Its root may be a link.
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
        let mut open: Vec<_> =
            lending.filter_map(|root| Some((root, self.opened(root)?))).collect();
        open.retain(|(root, open)| covers(&open.real, real) && root.reaches(&open.real, real));
        let open: Vec<_> = open.into_iter().map(|(_, open)| open).collect();
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
        // The longest root comes first: it is the most specific, and leaves the fewest links to follow.
        // If it is missing, a wider root may contain the place where it would be.
        lending.sort_by_key(|root| std::cmp::Reverse(root.path.components().len()));
        if lending.is_empty() || self.denies_at(path, access) {
            return Err(self.not_allowed(path, access));
        }
        for root in &lending {
            if let Some(open) = self.opened(root) {
                let names = path.relative_to(&root.path).unwrap_or_default();
                let found = located::find(self, &open, path, &names, access, follow_last)?;
                if root.only.is_some() && found.is_elsewhere(&open.real, &names) {
                    return Err(self.not_allowed(path, access));
                }
                return self.held(found, access);
            }
        }
        let missing = lending.first().map_or(path, |root| &root.path);
        // The grant names this path, so that whether it is a file is no secret.
        if Path::new(&missing.to_string()).is_file() {
            return Err(failure::granted_file(missing));
        }
        Err(Wanted::Directory.missing(missing))
    }

    fn granting(&self, path: &DevicePath, access: Access) -> Vec<&Root> {
        self.roots
            .iter()
            .filter(|root| root.access.contains(&access) && root.covers(path))
            .collect()
    }

    /// Returns whether some root grants this access to this path and no entry denies it. Opens nothing.
    #[must_use]
    pub fn grants(&self, path: &DevicePath, access: Access) -> bool {
        #[cfg(test)]
        if self.naive {
            return true;
        }
        !self.granting(path, access).is_empty() && !self.denies_at(path, access)
    }

    /// Returns whether a root is this path or lies beneath it.
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

    /// Returns a path without the links on the way to its root. Links below the root stay.
    pub(crate) fn real(&self, path: &DevicePath) -> DevicePath {
        self.names.real(path)
    }

    /// Returns the paths of the roots that grant an access.
    #[must_use]
    pub fn paths(&self, access: Access) -> Vec<String> {
        let lends = |root: &&Root| root.access.contains(&access);
        self.roots.iter().filter(lends).map(|root| root.granted().to_string()).collect()
    }

    /// Returns the paths of all roots, in the order of the grants.
    #[must_use]
    pub fn all_paths(&self) -> Vec<String> {
        self.roots.iter().map(|root| root.granted().to_string()).collect()
    }

    /// Returns whether any root can be written to.
    #[must_use]
    pub fn writable(&self) -> bool {
        !self.read_only && self.roots.iter().any(|root| root.access.contains(&Access::Write))
    }

    /// Returns the handles of the existing folders, for the trash that lies in some of them.
    pub(crate) fn handles(&self) -> Vec<Arc<Dir>> {
        self.roots.iter().filter_map(|root| Some(self.opened(root)?.dir)).collect()
    }

    /// Returns the existing folders with their granted access, to confine what reaches them.
    #[cfg(target_os = "linux")]
    pub(crate) fn granted(&self) -> impl Iterator<Item = GrantedFolder> {
        self.roots.iter().filter_map(|root| {
            Some(GrantedFolder { dir: self.opened(root)?.dir, access: root.access.clone() })
        })
    }

    /// Returns whether a program, by its resolved path, lies where Orion may write.
    #[must_use]
    pub fn may_change(&self, program: &Path) -> bool {
        self.roots.iter().filter(|root| root.access.contains(&Access::Write)).any(|root| {
            let named = PathBuf::from(root.path.to_string());
            let real = std::fs::canonicalize(&named).map(ordinary);
            program.starts_with(&named) || real.is_ok_and(|real| program.starts_with(real))
        })
    }

    /// Returns the error for a path outside. Its message depends only on the request and the grants.
    pub(crate) fn not_allowed(&self, path: &DevicePath, access: Access) -> ToolError {
        failure::not_allowed(path, access, self.paths(access))
    }
}
