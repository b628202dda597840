//! The limits of a device: the grants that the backend stores, and the ceiling that the device's owner
//! sets. Both have the same format and are compiled alike.

mod commands;
mod denied;
mod logs;
mod scope;
mod services;
#[cfg(test)]
mod tests;
mod tools;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::capability::Capability;
use crate::path::{DevicePath, PathError, PathPattern, Places};
use crate::touches::Access;

pub use commands::CommandGrant;
pub use denied::{DeniedPath, DenyList};
pub use logs::LogGrant;
pub use scope::{AllowedPath, Scope};
pub use services::{BadService, ServiceGrant};

/// A predefined set of capabilities.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// Reads files and device facts.
    Reader,
    /// Reads, writes, deletes, opens applications.
    Operator,
    /// An operator who also runs commands and developer tools.
    Developer,
    /// An operator who also manages services.
    Homelab,
    /// An operator whose every change is previewed and approved.
    Strict,
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Reader => "reader",
            Self::Operator => "operator",
            Self::Developer => "developer",
            Self::Homelab => "homelab",
            Self::Strict => "strict",
        })
    }
}

impl Profile {
    /// Returns the capabilities that the profile grants.
    #[must_use]
    pub const fn capabilities(self) -> &'static [Capability] {
        use Capability::{
            AppControl, CommandExecute, DevTools, DeviceInfo, FileDelete, FileRead, FileWrite,
            HomelabControl, NetworkAccess, ProcessKill, ServiceRead,
        };
        match self {
            Self::Reader => &[FileRead, DeviceInfo, ServiceRead],
            Self::Operator | Self::Strict => {
                &[FileRead, DeviceInfo, ServiceRead, FileWrite, FileDelete, AppControl, ProcessKill]
            }
            Self::Developer => &[
                FileRead,
                DeviceInfo,
                ServiceRead,
                FileWrite,
                FileDelete,
                AppControl,
                ProcessKill,
                CommandExecute,
                DevTools,
                NetworkAccess,
            ],
            Self::Homelab => &[
                FileRead,
                DeviceInfo,
                ServiceRead,
                FileWrite,
                FileDelete,
                AppControl,
                ProcessKill,
                HomelabControl,
            ],
        }
    }
}

/// A path and the access granted beneath it, as written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "PathGrantForm")]
pub struct PathGrant {
    /// In the device's syntax; `~` is the home folder there.
    pub path: String,
    /// The granted access.
    pub access: BTreeSet<Access>,
}

/// The two forms of a path grant. A path alone grants every access; the tools and risks decide the rest.
#[derive(Deserialize)]
#[serde(untagged)]
enum PathGrantForm {
    Short(String),
    Long(LongPathGrant),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct LongPathGrant {
    path: String,
    access: BTreeSet<Access>,
}

impl From<PathGrantForm> for PathGrant {
    fn from(form: PathGrantForm) -> Self {
        match form {
            PathGrantForm::Short(path) => {
                Self { path, access: [Access::Read, Access::Write, Access::Delete].into() }
            }
            PathGrantForm::Long(LongPathGrant { path, access }) => Self { path, access },
        }
    }
}

/// Grants or a ceiling, as written and sent. Everything left out is not granted.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Grants {
    /// A predefined set of capabilities. `None` means no profile.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The tools. `None` means every tool whose capabilities are granted. A list is complete: a tool
    /// with `enabled: false` is not granted.
    #[serde(
        alias = "allowed_tools",
        deserialize_with = "tools::read",
        skip_serializing_if = "Option::is_none"
    )]
    pub tools: Option<BTreeSet<String>>,
    /// The capabilities. `None` means the profile's, or with no profile those of the listed tools.
    #[serde(alias = "permissions", skip_serializing_if = "Option::is_none")]
    pub capabilities: Option<BTreeSet<Capability>>,
    /// The paths where files may be accessed. The first is the workspace.
    #[serde(alias = "allowed_paths", skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<PathGrant>,
    /// Paths and patterns that are denied even beneath an allowed path.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deny_paths: Vec<String>,
    /// Applications by name.
    #[serde(alias = "allowed_apps", skip_serializing_if = "BTreeSet::is_empty")]
    pub apps: BTreeSet<String>,
    /// Programs that commands may start. `None` means every program but those that give the whole machine,
    /// such as `docker`. A list is complete.
    #[serde(alias = "allowed_commands", skip_serializing_if = "Option::is_none")]
    pub commands: Option<Vec<CommandGrant>>,
    /// Units of systemd, containers and services of compose projects. Everything left out is not granted.
    #[serde(alias = "allowed_services", skip_serializing_if = "BTreeSet::is_empty")]
    pub services: BTreeSet<ServiceGrant>,
    /// Services whose logs may be read, by the same names. Everything left out is not granted: a log can hold
    /// secrets.
    #[serde(alias = "allowed_logs", skip_serializing_if = "BTreeSet::is_empty")]
    pub logs: BTreeSet<LogGrant>,
    /// Hosts with ports that may be contacted, such as `api.example.com:443`.
    #[serde(alias = "allowed_hosts", skip_serializing_if = "BTreeSet::is_empty")]
    pub hosts: BTreeSet<String>,
    /// Whether every write and delete is denied.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub read_only: bool,
}

/// An entry that could not be parsed. It grants nothing.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{entry}`: {error}")]
pub struct BadEntry {
    /// The entry as written.
    pub entry: String,
    /// Why the entry is invalid.
    pub error: PathError,
}

impl Grants {
    /// Compiles the grants for a device. A bad allow entry grants nothing; a bad deny entry denies every
    /// path, because its intent is unknown.
    #[must_use]
    pub fn compile(&self, places: &Places) -> (Scope, Vec<BadEntry>) {
        // Relative paths resolve against the first granted path, so granted paths cannot be relative.
        let anchored = Places { workspace: None, ..places.clone() };
        let mut bad = Vec::new();
        let mut scope = Scope {
            tools: self.tools.clone(),
            capabilities: self.effective_capabilities(),
            apps: self.apps.clone(),
            commands: self.commands.clone(),
            services: self.services.clone(),
            logs: self.logs.clone(),
            hosts: self.hosts.clone(),
            read_only: self.read_only,
            strict: self.profile == Some(Profile::Strict),
            denied: DenyList::built_in(places.style),
            deny_all_paths: false,
            home: places.home.clone(),
            ..Scope::nothing()
        };
        for grant in &self.paths {
            match DevicePath::resolve(&anchored, &grant.path) {
                Ok(root) => {
                    let entry = AllowedPath { root, only: None, access: grant.access.clone() };
                    scope.denied.lift(&entry);
                    scope.allowed.push(entry);
                }
                Err(error) => bad.push(BadEntry { entry: grant.path.clone(), error }),
            }
        }
        for entry in &self.deny_paths {
            match PathPattern::parse(places, entry) {
                Ok(pattern) => {
                    let entry = DeniedPath { pattern, built_in: None };
                    scope.denied.extend([entry]);
                }
                Err(error) => {
                    scope.deny_all_paths = true;
                    bad.push(BadEntry { entry: entry.clone(), error });
                }
            }
        }
        (scope, bad)
    }

    /// Returns the granted capabilities: those listed, or the profile's. `None` means those of the listed tools.
    #[must_use]
    pub fn effective_capabilities(&self) -> Option<BTreeSet<Capability>> {
        match (&self.capabilities, self.profile, &self.tools) {
            (Some(listed), _, _) => Some(listed.clone()),
            (None, Some(profile), _) => Some(profile.capabilities().iter().copied().collect()),
            (None, None, Some(_)) => None,
            (None, None, None) => Some(BTreeSet::new()),
        }
    }

    /// Returns the first allowed path as written, against which relative paths resolve.
    #[must_use]
    pub fn workspace(&self) -> Option<&str> {
        self.paths.first().map(|grant| grant.path.as_str())
    }
}
