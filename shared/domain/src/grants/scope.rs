//! Grants or a ceiling as calls are judged by them: every path read by the device's rules.

use std::collections::BTreeSet;

use super::denied::{DeniedPath, DenyList};
use super::hosts;
use crate::capability::Capability;
use crate::path::{DevicePath, covers, holds_system};
use crate::touches::{Access, PathTouch};

/// An allowed path, ready to compare.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllowedPath {
    /// The root.
    pub root: DevicePath,
    /// What may be done beneath it.
    pub access: BTreeSet<Access>,
}

/// Grants or a ceiling for one device, compiled against that device's places.
#[derive(Debug, Clone)]
pub struct Scope {
    /// The tools that are listed; `None` means that capabilities alone decide.
    pub tools: Option<BTreeSet<String>>,
    /// The capabilities that are held; `None` means those of the listed tools.
    pub capabilities: Option<BTreeSet<Capability>>,
    /// Where files may be touched.
    pub allowed: Vec<AllowedPath>,
    /// What is refused all the same.
    pub denied: DenyList,
    /// Applications.
    pub apps: BTreeSet<String>,
    /// Hosts with ports that addresses may name; empty means that nothing is said of them.
    pub hosts: BTreeSet<String>,
    /// Whether every write and delete is refused.
    pub read_only: bool,
    /// Whether every change is previewed and approved.
    pub strict: bool,
    /// Deny entries could not be understood: then every path is refused.
    pub deny_all_paths: bool,
    /// The home folder of the device.
    pub home: Option<DevicePath>,
}

impl Scope {
    /// A scope in which nothing is possible.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            tools: Some(BTreeSet::new()),
            capabilities: Some(BTreeSet::new()),
            allowed: Vec::new(),
            denied: DenyList::default(),
            apps: BTreeSet::new(),
            hosts: BTreeSet::new(),
            read_only: true,
            strict: false,
            deny_all_paths: true,
            home: None,
        }
    }

    /// Whether the tool itself is possible here.
    #[must_use]
    pub fn lists_tool(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.contains(tool))
    }

    /// The first capability that is wanted and not held.
    #[must_use]
    pub fn missing_capability(&self, wanted: &[Capability]) -> Option<Capability> {
        let held = self.capabilities.as_ref()?;
        wanted.iter().copied().find(|capability| !held.contains(capability))
    }

    /// The deny entry that refuses this path whatever is done with it, if any.
    #[must_use]
    pub fn denying(&self, path: &DevicePath) -> Option<&DeniedPath> {
        self.denied.keeping_out(path, Access::Read)
    }

    /// The deny entry that refuses what would be done, if any. What is deleted goes with all that is
    /// in it, so an entry that begins somewhere beneath refuses that too.
    #[must_use]
    pub fn denying_touch(&self, touch: &PathTouch) -> Option<&DeniedPath> {
        self.denied.refusing(touch)
    }

    /// Whether a path holds an allowed path, or a system folder that the entry which covers it does
    /// not name. Neither may go with it.
    #[must_use]
    pub fn holds_ground(&self, path: &DevicePath) -> bool {
        self.allowed.iter().any(|entry| path.may_contain(&entry.root))
            || !self.allowed.iter().any(|entry| {
                entry.access.contains(&Access::Delete)
                    && covers(&entry.root, path)
                    && !holds_system(&entry.root, path)
            })
    }

    /// Whether this is a place that starts programs, which an entry names all the same.
    #[must_use]
    pub fn names_start_place(&self, path: &DevicePath) -> bool {
        self.denied.is_start_place(path)
    }

    /// How many components of a path are a matter of course: the home folder's. Elsewhere those of
    /// the entry that covers the path, which somebody wrote on purpose.
    #[must_use]
    pub fn named(&self, path: &DevicePath) -> usize {
        match self.home.as_ref().filter(|home| home.contains(path)) {
            Some(home) => home.components().len(),
            None => {
                let around = self.allowed.iter().filter(|entry| covers(&entry.root, path));
                around.map(|entry| entry.root.components().len()).max().unwrap_or_default()
            }
        }
    }

    /// Whether an address may be opened, as far as hosts were said at all.
    #[must_use]
    pub fn lists_host(&self, url: &str) -> bool {
        self.hosts.is_empty() || hosts::lists(&self.hosts, url)
    }

    /// The position of the allowed path that covers this one for this access.
    #[must_use]
    pub fn covering(&self, path: &DevicePath, access: Access) -> Option<usize> {
        self.allowed
            .iter()
            .position(|entry| covers(&entry.root, path) && entry.access.contains(&access))
    }

    /// The allowed roots for an access, as people read them.
    #[must_use]
    pub fn allowed_roots(&self, access: Access) -> Vec<String> {
        self.allowed
            .iter()
            .filter(|entry| entry.access.contains(&access))
            .map(|entry| entry.root.to_string())
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::grants::Grants;
    use crate::path::{PathStyle, Places};

    #[test]
    fn what_is_denied_whatever_is_done_with_it_is_named_by_its_entry() {
        let grants: Grants =
            serde_json::from_value(json!({"paths": ["/srv"], "deny_paths": ["/srv/*.key"]}))
                .unwrap();
        let places = Places { style: PathStyle::Posix, workspace: None, home: None };
        let (scope, bad) = grants.compile(&places);
        assert_eq!(bad, []);
        for (path, expected) in [
            ("/srv/a.key", Some(("/srv/*.key", false))),
            ("/srv/.ssh/id", Some(("**/.ssh", true))),
            ("/srv/.bashrc", None),
            ("/srv/a", None),
        ] {
            let path = DevicePath::parse(PathStyle::Posix, path).unwrap();
            let entry = scope.denying(&path);
            let found = entry.map(|entry| (entry.pattern.as_text(), entry.built_in.is_some()));
            assert_eq!(found, expected, "{path}");
        }
    }
}
