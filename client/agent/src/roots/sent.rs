//! The granted folders as one process of the agent sends them to another. The handles of the folders travel
//! beside them, so that the other process has the folders that were checked, whatever is at their paths now.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use cap_std::fs::Dir;
use orion_domain::grants::DenyList;
use orion_domain::path::PathPattern;
use orion_domain::services::Service;
use orion_domain::{Access, DevicePath};
use serde::{Deserialize, Serialize};

use super::names::Names;
use super::open::Root;
use super::suspects::Suspects;
use super::{GrantedRoots, OpenRoot, Roots};

/// Granted folders without their handles.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct SentRoots {
    roots: Vec<SentRoot>,
    denied: [DenyList; 2],
    private: Vec<DevicePath>,
    own: Vec<PathPattern>,
    names: Names,
    suspects: Suspects,
    deny_all: bool,
    read_only: bool,
    services: Vec<Service>,
    #[cfg(test)]
    naive: bool,
}

/// One granted folder.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SentRoot {
    path: DevicePath,
    only: Option<DevicePath>,
    access: BTreeSet<Access>,
    base: DevicePath,
    /// The real path of a folder that exists, whose handle travels.
    real: Option<DevicePath>,
}

/// A granted folder that exists.
#[derive(Debug, Clone)]
pub(crate) struct GrantedFolder {
    /// The folder.
    pub(crate) dir: Arc<Dir>,
    /// The granted access.
    pub(crate) access: BTreeSet<Access>,
}

impl Roots {
    /// Returns the folders to send, and the handles of those that exist, in order.
    pub(crate) fn to_send(&self) -> (SentRoots, Vec<Arc<Dir>>) {
        let GrantedRoots {
            roots,
            denied,
            private,
            own,
            names,
            suspects,
            deny_all,
            read_only,
            services,
        } = &*self.ground;
        let mut handles = Vec::new();
        let roots = roots.iter().map(|root| {
            let open = self.opened(root);
            handles.extend(open.iter().map(|open| Arc::clone(&open.dir)));
            SentRoot {
                path: root.path.clone(),
                only: root.only.clone(),
                access: root.access.clone(),
                base: root.base.clone(),
                real: open.map(|open| open.real),
            }
        });
        let sent = SentRoots {
            roots: roots.collect(),
            denied: denied.clone(),
            private: private.clone(),
            own: own.clone(),
            names: names.clone(),
            suspects: suspects.clone(),
            deny_all: *deny_all,
            read_only: *read_only,
            services: services.clone(),
            #[cfg(test)]
            naive: self.naive,
        };
        (sent, handles)
    }

    /// Returns the folders that were received, and those that exist. `None` if a handle is missing.
    pub(crate) fn received(
        sent: SentRoots,
        handles: impl IntoIterator<Item = Dir>,
    ) -> Option<(Self, Vec<GrantedFolder>)> {
        let mut handles = handles.into_iter();
        let mut granted = Vec::new();
        let mut roots = Vec::new();
        for SentRoot { path, only, access, base, real } in sent.roots {
            let open = match real {
                Some(real) => Some(OpenRoot { real, dir: Arc::new(handles.next()?) }),
                None => None,
            };
            granted.extend(
                open.iter().map(|open| GrantedFolder {
                    dir: Arc::clone(&open.dir),
                    access: access.clone(),
                }),
            );
            roots.push(Root { path, only, access, base, open: Mutex::new(open) });
        }
        let ground = GrantedRoots {
            roots,
            denied: sent.denied,
            private: sent.private,
            own: sent.own,
            names: sent.names,
            suspects: sent.suspects,
            deny_all: sent.deny_all,
            read_only: sent.read_only,
            services: sent.services,
        };
        let roots = Self {
            ground: Arc::new(ground),
            call: None,
            #[cfg(test)]
            naive: sent.naive,
        };
        Some((roots, granted))
    }

    /// Returns what every call shares.
    pub(crate) fn ground(&self) -> &Arc<GrantedRoots> {
        &self.ground
    }

    /// Returns whether paths are joined instead of walked.
    #[cfg(test)]
    pub(crate) const fn is_naive(&self) -> bool {
        self.naive
    }
}

#[cfg(test)]
mod tests {
    use orion_domain::{Grants, PathStyle, Places};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_was_sent_grants_and_denies_the_same_and_has_the_folders_that_were_open() {
        let temp = tempfile::tempdir().unwrap();
        let at = temp.path().to_str().unwrap();
        for name in ["a/.ssh", "a/kept", "b", "out"] {
            std::fs::create_dir_all(temp.path().join(name)).unwrap();
        }
        std::os::unix::fs::symlink(temp.path().join("a"), temp.path().join("link")).unwrap();
        let grants = json!({
            "paths": [format!("{at}/link"), {"path": format!("{at}/b"), "access": ["read"]}, format!("{at}/none"), format!("{at}/link/.ssh/known")],
            "deny_paths": [format!("{at}/a/kept"), "**/*.Secret"],
        });
        let grants: Grants = serde_json::from_value(grants).unwrap();
        let places = Places::bare(PathStyle::Posix);
        let scope = grants.compile(&places).0;
        let private = DevicePath::parse(PathStyle::Posix, &format!("{at}/b/state")).unwrap();
        let roots = Roots::open(&scope, &scope, &[private]);
        let (sent, handles) = roots.to_send();
        assert_eq!(handles.len(), 2);
        let text = serde_json::to_vec(&sent).unwrap();
        // What has the name by now is another folder.
        std::fs::rename(temp.path().join("b"), temp.path().join("before")).unwrap();
        std::fs::write(temp.path().join("before/x"), "").unwrap();
        let copies = handles.iter().map(|dir| dir.try_clone().unwrap());
        let sent = serde_json::from_slice(&text).unwrap();
        let (received, granted) = Roots::received(sent, copies).unwrap();
        assert!(granted.iter().any(|folder| folder.dir.exists("x")));
        assert_eq!(received.all_paths(), roots.all_paths());
        let mut denied = 0;
        for name in [
            "link",
            "link/x",
            "link/kept/x",
            "a/x",
            "a/kept",
            "link/.ssh/known",
            "link/.ssh/id_rsa",
            "b/x",
            "b/state/x",
            "b/y.sEcret",
            "link/.env",
            "out/x",
            "none/x",
            "link/.orion-trash/x",
            "link/.bashrc",
        ] {
            let path = DevicePath::parse(PathStyle::Posix, &format!("{at}/{name}")).unwrap();
            for access in [Access::Read, Access::Write, Access::Delete] {
                let grants = roots.grants(&path, access);
                assert_eq!(received.grants(&path, access), grants, "{name} {access}");
                denied += usize::from(!grants);
            }
            assert_eq!(received.denies(&path), roots.denies(&path), "{name}");
        }
        assert!((10..45).contains(&denied), "{denied}");
        // A handle that did not arrive is no folder.
        let sent = serde_json::from_slice(&text).unwrap();
        assert!(Roots::received(sent, Vec::new()).is_none());
    }
}
