//! What a call would touch. Policy sees only this, never a tool's own arguments.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::digest::Digest;
use crate::hosts::Address;
use crate::observation::{MAX_OBSERVED, Observation};
use crate::path::DevicePath;
use crate::services::Service;

/// The kind of access to a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Reads content, names or metadata.
    Read,
    /// Creates or changes something.
    Write,
    /// Deletes something.
    Delete,
    /// Writes what may start programs.
    Execute,
}

impl Access {
    /// Returns the name that policy files use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Delete => "delete",
            Self::Execute => "execute",
        }
    }
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One path and the access to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathTouch {
    /// Absolute, by the device's path rules.
    pub path: DevicePath,
    /// The access.
    pub access: Access,
}

/// A program that a call starts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandTouch {
    /// The program as the call names it: a name that the device looks up, or a path.
    pub program: String,
    /// The arguments that the call gives, without the program.
    pub arguments: Vec<String>,
    /// The folder that the program starts in.
    pub folder: DevicePath,
}

impl fmt::Display for CommandTouch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.program)?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {argument}"))
    }
}

/// A service that a call reads or changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceTouch {
    /// The service.
    pub service: Service,
    /// Whether the call changes the service, rather than only read its state.
    pub changes: bool,
}

impl ServiceTouch {
    /// Creates the value for a service that is only read.
    #[must_use]
    pub const fn read(service: Service) -> Self {
        Self { service, changes: false }
    }

    /// Creates the value for a service that is changed.
    #[must_use]
    pub const fn change(service: Service) -> Self {
        Self { service, changes: true }
    }
}

/// Everything that one call would touch. Empty means that the call touches only the tool itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Touches {
    /// Files and folders.
    pub paths: Vec<PathTouch>,
    /// Names of applications on the device's list.
    pub apps: Vec<String>,
    /// URLs that an application opens.
    pub urls: Vec<String>,
    /// Programs that the call starts, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub commands: Vec<CommandTouch>,
    /// Services that the call reads or changes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<ServiceTouch>,
    /// Services whose logs the call reads.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub logs: Vec<Service>,
    /// Hosts with ports that the device itself contacts, besides those that each tool of its kind contacts:
    /// itself, its gateway, its resolvers and its backend.
    pub hosts: Vec<Address>,
    /// The definition of the custom tool that the call runs. An approval is for this definition.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub definition: Option<Digest>,
    /// Whether folders among the paths are taken with their content: deleted, moved, copied or
    /// traversed. The tool and its arguments determine this.
    #[serde(skip)]
    pub whole: bool,
}

impl Touches {
    /// Creates the value for a call that touches only the tool itself.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// Creates the value for a call that touches one path.
    #[must_use]
    pub fn path(path: DevicePath, access: Access) -> Self {
        Self { paths: vec![PathTouch { path, access }], ..Self::default() }
    }

    /// Creates the value for a call that touches one service.
    #[must_use]
    pub fn service(touch: ServiceTouch) -> Self {
        Self { services: vec![touch], ..Self::default() }
    }

    /// Creates the value for a call that reads the log of one service.
    #[must_use]
    pub fn log(service: Service) -> Self {
        Self { logs: vec![service], ..Self::default() }
    }

    /// Adds one access to one path.
    #[must_use]
    pub fn and_path(mut self, path: DevicePath, access: Access) -> Self {
        self.paths.push(PathTouch { path, access });
        self
    }

    /// Returns whether each of the first [`MAX_OBSERVED`] paths, and each program, has an observation among
    /// these.
    #[must_use]
    pub fn are_all_in(&self, observed: &[Observation]) -> bool {
        let mut named = BTreeSet::new();
        let paths = self.paths.iter().map(|touch| touch.path.to_string());
        let paths = paths.filter(|path| named.insert(path.clone())).take(MAX_OBSERVED);
        let programs = self.commands.iter().map(|command| command.program.clone());
        paths.chain(programs).all(|path| observed.iter().any(|seen| seen.path == path))
    }

    /// Returns the union of both.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for touch in other.paths {
            if !self.paths.contains(&touch) {
                self.paths.push(touch);
            }
        }
        self.apps.extend(other.apps);
        self.urls.extend(other.urls);
        self.commands.extend(other.commands);
        self.services.extend(other.services);
        self.logs.extend(other.logs);
        self.hosts.extend(other.hosts);
        let definition = self.definition.or(other.definition);
        Self { whole: self.whole || other.whole, definition, ..self }
    }

    /// Includes the content of the folders among the paths.
    #[must_use]
    pub fn and_all_in_it(self) -> Self {
        Self { whole: true, ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::observation::Kind;
    use crate::path::PathStyle;

    fn path(text: &str) -> DevicePath {
        DevicePath::parse(PathStyle::Posix, text).unwrap()
    }

    fn observed(path: &str) -> Observation {
        let (path, real) = (path.to_owned(), path.to_owned());
        Observation { path, real, kind: Kind::File, bytes: 1, mode: 0, digest: None }
    }

    #[test]
    fn two_calls_together_touch_what_each_touches_once_and_take_whole_what_one_takes() {
        let a = Touches::path(path("/a"), Access::Read);
        let b = Touches::path(path("/b"), Access::Write);
        let both = a.clone().and(b.clone());
        assert_eq!(both, a.clone().and_path(path("/b"), Access::Write));
        assert_eq!(both.clone().and(a.clone()), both, "a touch is named once");
        assert!(a.clone().and(b.clone().and_all_in_it()).whole);
        assert!(a.clone().and_all_in_it().and(b.clone()).whole);
        assert!(!a.clone().and(b).whole);
        let opens = Touches { apps: vec!["editor".to_owned()], ..Touches::nothing() };
        assert_eq!(a.clone().and(opens).apps, ["editor"]);
        let host = Address::parse("nas.example:443").unwrap();
        let contacts = Touches { hosts: vec![host.clone()], ..Touches::nothing() };
        assert_eq!(a.and(contacts).hosts, [host]);
    }

    #[test]
    fn every_path_needs_an_observation_of_its_own() {
        let touches = Touches::path(path("/a"), Access::Read).and_path(path("/b"), Access::Write);
        assert!(touches.are_all_in(&[observed("/b"), observed("/a")]));
        assert!(!touches.are_all_in(&[observed("/a")]));
        assert!(!touches.are_all_in(&[observed("/c")]));
        assert!(!touches.are_all_in(&[]));
        assert!(Touches::nothing().are_all_in(&[]));
    }
}
