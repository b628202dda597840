//! Grants or a ceiling in the form that evaluates calls, with every path parsed by the device's rules.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::commands::{self, CommandGrant};
use super::denied::{DeniedPath, DenyList};
use super::logs::{self, LogGrant};
use super::services::{self, ServiceGrant};
use crate::capability::Capability;
use crate::hosts::{self, Address, address_of};
use crate::path::{DevicePath, covers, holds_system};
use crate::services::Service;
use crate::touches::{Access, CommandTouch, PathTouch, ServiceTouch};

/// How many roots are compared, and how many named: a ceiling is a device's, and may have thousands.
const MAX_COMPARED_ROOTS: usize = 1000;
const MAX_NAMED_ROOTS: usize = 20;

/// An allowed path, compiled for comparison.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AllowedPath {
    /// The root folder or file.
    pub root: DevicePath,
    /// The only path beneath the root that is granted, with what it contains. `None` for the whole root.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub only: Option<DevicePath>,
    /// The access granted beneath the root.
    pub access: BTreeSet<Access>,
}

impl AllowedPath {
    /// Returns whether the entry covers a path, whatever the access.
    #[must_use]
    pub fn covers(&self, path: &DevicePath) -> bool {
        covers(&self.root, path) && self.only.as_ref().is_none_or(|only| only.contains(path))
    }
}

/// Grants or a ceiling for one device, compiled with that device's home and workspace.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Scope {
    /// The listed tools; `None` means that capabilities alone decide.
    pub tools: Option<BTreeSet<String>>,
    /// The granted capabilities; `None` means those of the listed tools.
    pub capabilities: Option<BTreeSet<Capability>>,
    /// The paths where files may be accessed.
    pub allowed: Vec<AllowedPath>,
    /// The paths that are denied even beneath an allowed path.
    pub denied: DenyList,
    /// The granted applications.
    pub apps: BTreeSet<String>,
    /// The programs that commands may start; `None` means that capabilities alone decide, but for programs
    /// that give the whole machine.
    pub commands: Option<Vec<CommandGrant>>,
    /// The services that tools may read, or read and change.
    pub services: BTreeSet<ServiceGrant>,
    /// The services whose logs tools may read.
    pub logs: BTreeSet<LogGrant>,
    /// Hosts with ports that URLs may name and that tools may contact; empty means that URLs are not
    /// restricted, and that no host is contacted.
    pub hosts: BTreeSet<String>,
    /// Whether every write and delete is denied.
    pub read_only: bool,
    /// Whether every change needs a preview and an approval.
    pub strict: bool,
    /// Whether a deny entry could not be parsed: then every path is denied.
    pub deny_all_paths: bool,
    /// The device's home folder. `None` where it is unknown.
    pub home: Option<DevicePath>,
}

impl Scope {
    /// Returns a scope that allows nothing.
    #[must_use]
    pub fn nothing() -> Self {
        Self {
            tools: Some(BTreeSet::new()),
            capabilities: Some(BTreeSet::new()),
            allowed: Vec::new(),
            denied: DenyList::default(),
            apps: BTreeSet::new(),
            commands: Some(Vec::new()),
            services: BTreeSet::new(),
            logs: BTreeSet::new(),
            hosts: BTreeSet::new(),
            read_only: true,
            strict: false,
            deny_all_paths: true,
            home: None,
        }
    }

    /// Returns whether the tool is allowed here.
    #[must_use]
    pub fn lists_tool(&self, tool: &str) -> bool {
        self.tools.as_ref().is_none_or(|tools| tools.contains(tool))
    }

    /// Returns the first needed capability that is not granted.
    #[must_use]
    pub fn missing_capability(&self, wanted: &[Capability]) -> Option<Capability> {
        let held = self.capabilities.as_ref()?;
        wanted.iter().copied().find(|capability| !held.contains(capability))
    }

    /// Returns the deny entry that denies this path for every access, if any.
    #[must_use]
    pub fn denying(&self, path: &DevicePath) -> Option<&DeniedPath> {
        self.denied.keeping_out(path, Access::Read)
    }

    /// Returns whether a deny entry denies writing there. Each built-in entry does, also where reading is free.
    #[must_use]
    pub fn denies_changes(&self, path: &DevicePath) -> bool {
        self.denied.keeping_out(path, Access::Write).is_some()
    }

    /// Returns the deny entry that denies the touch, if any. A delete removes everything in a folder, so
    /// an entry that begins beneath the folder denies the delete too.
    #[must_use]
    pub fn denying_touch(&self, touch: &PathTouch) -> Option<&DeniedPath> {
        self.denied.refusing(touch)
    }

    /// Returns whether a path holds an allowed root, or a system folder that the covering entry does not
    /// name. Neither may be deleted with it.
    #[must_use]
    pub fn holds_ground(&self, path: &DevicePath) -> bool {
        self.allowed.iter().any(|entry| path.may_contain(&entry.root))
            || !self.allowed.iter().any(|entry| {
                entry.access.contains(&Access::Delete)
                    && entry.covers(path)
                    && !holds_system(&entry.root, path)
            })
    }

    /// Returns whether this is a start place that an allow entry names.
    #[must_use]
    pub fn names_start_place(&self, path: &DevicePath) -> bool {
        self.denied.is_start_place(path)
    }

    /// Returns the number of leading components that raise no risk. Beneath home these are the home
    /// folder's; elsewhere those of the entry that covers the path, which was written on purpose.
    #[must_use]
    pub fn named(&self, path: &DevicePath) -> usize {
        match self.home.as_ref().filter(|home| home.contains(path)) {
            Some(home) => home.components().len(),
            None => {
                // The root of what is granted for a while is the folder around it, which nobody named.
                let named = self.allowed.iter().filter(|entry| entry.only.is_none());
                let around = named.filter(|entry| covers(&entry.root, path));
                around.map(|entry| entry.root.components().len()).max().unwrap_or_default()
            }
        }
    }

    /// Returns whether a URL may be opened; always, where no hosts are listed.
    #[must_use]
    pub fn lists_host(&self, url: &str) -> bool {
        self.hosts.is_empty()
            || address_of(url).is_some_and(|address| hosts::lists(&self.hosts, &address))
    }

    /// Returns whether the device may contact a host; never, where no hosts are listed.
    #[must_use]
    pub fn lists_contact(&self, address: &Address) -> bool {
        hosts::lists(&self.hosts, address)
    }

    /// Returns whether some command that another entry lets be started may be started here as well.
    #[must_use]
    pub fn grants_command(&self, other: &CommandGrant) -> bool {
        commands::grants_any_of(self.commands.as_deref(), other)
    }

    /// Returns whether a command may be started.
    #[must_use]
    pub fn lists_command(&self, command: &CommandTouch) -> bool {
        commands::lists(self.commands.as_deref(), command)
    }

    /// Returns whether a service may be read, or changed.
    #[must_use]
    pub fn lists_service(&self, touch: &ServiceTouch) -> bool {
        services::lists(&self.services, touch)
    }

    /// Returns whether the log of a service may be read.
    #[must_use]
    pub fn lists_log(&self, service: &Service) -> bool {
        logs::lists(&self.logs, service)
    }

    /// Returns the services that may be read in both scopes.
    #[must_use]
    pub fn services_with(&self, other: &Self) -> Vec<Service> {
        let touch = |grant: &ServiceGrant| ServiceTouch::read(grant.service.clone());
        let both = self.services.iter().map(touch).filter(|touch| other.lists_service(touch));
        let mut services: Vec<_> = both.map(|touch| touch.service).collect();
        services.dedup();
        services
    }

    /// Returns the position of the allowed path that covers this one for this access.
    #[must_use]
    pub fn covering(&self, path: &DevicePath, access: Access) -> Option<usize> {
        self.allowed.iter().position(|entry| entry.covers(path) && entry.access.contains(&access))
    }

    /// Returns whether a path is beneath an allowed root, and yet not allowed: a system folder is only where it is named.
    #[must_use]
    pub fn leaves_out(&self, path: &DevicePath, access: Access) -> bool {
        self.covering(path, access).is_none() && self.roots(access).any(|root| root.contains(path))
    }

    /// Returns the allowed roots for an access, as people read them.
    #[must_use]
    pub fn allowed_roots(&self, access: Access) -> Vec<String> {
        self.roots(access).map(ToString::to_string).collect()
    }

    /// Returns the allowed roots for an access where another scope allows it too, there or somewhere beneath: the first
    /// [`MAX_NAMED_ROOTS`]. The other's own roots are not shown: they may be a device's words.
    #[must_use]
    pub fn allowed_roots_within(&self, limit: &Self, access: Access) -> Vec<String> {
        if limit.deny_all_paths || (limit.read_only && access != Access::Read) {
            return Vec::new();
        }
        let is_free = |inner: &DevicePath| limit.denied.keeping_out(inner, access).is_none();
        let holds_open = |root: &DevicePath| {
            let mut inner = limit.roots(access).filter(|inner| root.contains(inner));
            inner.any(|inner| is_free(inner) && self.opens(inner, access))
        };
        let is_open = |root: &&DevicePath| {
            self.opens(root, access) && (limit.opens(root, access) || holds_open(root))
        };
        let open = self.roots(access).take(MAX_COMPARED_ROOTS).filter(is_open);
        open.take(MAX_NAMED_ROOTS).map(ToString::to_string).collect()
    }

    fn roots(&self, access: Access) -> impl Iterator<Item = &DevicePath> {
        let allowing = self.allowed.iter().filter(move |entry| entry.access.contains(&access));
        allowing.map(|entry| entry.only.as_ref().unwrap_or(&entry.root))
    }

    /// Returns whether an access is allowed at a root, or beneath it.
    fn opens(&self, root: &DevicePath, access: Access) -> bool {
        !self.deny_all_paths
            && (access == Access::Read || !self.read_only)
            && self.denied.keeping_out(root, access).is_none()
            && self.covering(root, access).is_some()
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
        let places = Places::bare(PathStyle::Posix);
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

    #[test]
    fn roots_are_named_only_where_another_scope_allows_something_too() {
        let scope = |grants: serde_json::Value| {
            let grants: Grants = serde_json::from_value(grants).unwrap();
            grants.compile(&Places::bare(PathStyle::Posix)).0
        };
        let granted = scope(json!({"paths": ["/srv/a", "/srv/b/c", "/opt", "/srv/.ssh"]}));
        let narrow = json!([{"path": "/srv/a", "access": ["read"]}, "/srv/b", "/opt/x", "/tmp"]);
        let owners = scope(json!({"paths": narrow, "deny_paths": ["/srv/b/c"]}));
        let shared = |access| granted.allowed_roots_within(&owners, access);
        assert_eq!(shared(Access::Read), ["/srv/a", "/opt"]);
        assert_eq!(shared(Access::Write), ["/opt"]);
        let frozen = scope(json!({"paths": ["/", "/opt/x"], "read_only": true}));
        assert_eq!(granted.allowed_roots_within(&frozen, Access::Read).len(), 3);
        assert_eq!(granted.allowed_roots_within(&frozen, Access::Write), Vec::<String>::new());
        assert_eq!(
            granted.allowed_roots_within(&Scope::nothing(), Access::Read),
            Vec::<String>::new()
        );
    }

    #[test]
    fn a_system_folder_beneath_a_wider_root_is_left_out() {
        let path = |text: &str| DevicePath::parse(PathStyle::Posix, text).unwrap();
        let grants: Grants = serde_json::from_value(json!({"paths": ["/", "/etc/x"]})).unwrap();
        let (scope, _) = grants.compile(&Places::bare(PathStyle::Posix));
        for (text, expected) in [("/usr/share/x", true), ("/etc/x/y", false), ("/srv/a", false)] {
            assert_eq!(scope.leaves_out(&path(text), Access::Read), expected, "{text}");
        }
        assert!(!Scope::nothing().leaves_out(&path("/usr/share/x"), Access::Read));
    }

    #[test]
    fn beneath_home_the_home_folder_raises_no_risk_and_elsewhere_the_granted_folder_does_not() {
        let path = |text: &str| DevicePath::parse(PathStyle::Posix, text).unwrap();
        let grants: Grants =
            serde_json::from_value(json!({"paths": ["/home/ann/.dots", "/srv/.www"]})).unwrap();
        let home = Some(path("/home/ann"));
        let places = Places { home, ..Places::bare(PathStyle::Posix) };
        let (scope, bad) = grants.compile(&places);
        assert_eq!(bad, []);
        for (text, expected) in [("/home/ann/.dots/a", 2), ("/srv/.www/a", 2), ("/etc/a", 0)] {
            assert_eq!(scope.named(&path(text)), expected, "{text}");
        }
        let nowhere = Places::bare(PathStyle::Posix);
        assert_eq!(grants.compile(&nowhere).0.named(&path("/home/ann/.dots/a")), 3);
    }
}
