//! The handshake between device and backend: versions, and the facts that path rules need.

use std::collections::HashMap;
use std::fmt;

use orion_domain::{DevicePath, PathStyle, Places, Projects};

use crate::error::WireError;
use crate::v1;

/// The protocol version of this build.
pub const PROTOCOL: ProtocolVersion = ProtocolVersion { major: 1, minor: 2 };

/// A version of the stream's protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProtocolVersion {
    /// Must be equal on both peers.
    pub major: u32,
    /// May differ by one between peers.
    pub minor: u32,
}

impl ProtocolVersion {
    /// Returns whether two versions are compatible.
    #[must_use]
    pub const fn works_with(self, other: Self) -> bool {
        self.major == other.major && self.minor.abs_diff(other.minor) <= 1
    }
}

impl fmt::Display for ProtocolVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

/// The operating systems that agents run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are names")]
pub enum Os {
    Linux,
    Macos,
    Windows,
}

impl Os {
    /// Returns the operating system that this build is for.
    #[must_use]
    pub const fn current() -> Self {
        if cfg!(windows) {
            Self::Windows
        } else if cfg!(target_os = "macos") {
            Self::Macos
        } else {
            Self::Linux
        }
    }

    /// Returns the name on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Linux => "linux",
            Self::Macos => "macos",
            Self::Windows => "windows",
        }
    }

    /// Returns the style of paths on the system.
    #[must_use]
    pub const fn path_style(self) -> PathStyle {
        match self {
            Self::Linux | Self::Macos => PathStyle::Posix,
            Self::Windows => PathStyle::Windows,
        }
    }
}

/// What a device reports about itself, converted to domain types.
#[derive(Debug, Clone, PartialEq)]
pub struct DeviceFacts {
    /// The operating system.
    pub os: Os,
    /// The operating system's version, for people.
    pub os_version: String,
    /// The device's own name, for people.
    pub hostname: String,
    /// The processor's architecture, for people.
    pub arch: String,
    /// The sandbox that confines its tools, for people.
    pub sandbox: String,
    /// The style, workspace and home that path rules need.
    pub places: Places,
}

/// The maximum length of a text for display from a device, in characters.
const MAX_DISPLAY: usize = 128;

fn display(text: String) -> String {
    orion_domain::strip_hidden(&text, MAX_DISPLAY)
}

impl TryFrom<v1::DeviceFacts> for DeviceFacts {
    type Error = WireError;

    fn try_from(facts: v1::DeviceFacts) -> Result<Self, WireError> {
        let v1::DeviceFacts {
            os,
            os_version,
            hostname,
            home,
            workspace,
            arch,
            sandbox,
            projects,
            owner_file,
        } = facts;
        let os = match os.as_str() {
            "linux" => Os::Linux,
            "macos" => Os::Macos,
            "windows" => Os::Windows,
            _ => return Err(WireError::Field { field: "facts.os" }),
        };
        let style = os.path_style();
        let place = |text: &str, field| {
            if text.is_empty() {
                return Ok(None);
            }
            DevicePath::parse(style, text).map(Some).map_err(|_| WireError::Field { field })
        };
        Ok(Self {
            os,
            os_version: display(os_version),
            hostname: display(hostname),
            arch: display(arch),
            sandbox: display(sandbox),
            places: Places {
                style,
                home: place(&home, "facts.home")?,
                workspace: place(&workspace, "facts.workspace")?,
                projects: self::projects(style, &projects)?,
                // Only hints name it, so a device is served whatever this path is.
                owner_file: DevicePath::parse(style, &owner_file).ok(),
            },
        })
    }
}

impl From<&DeviceFacts> for v1::DeviceFacts {
    fn from(facts: &DeviceFacts) -> Self {
        let DeviceFacts { os, os_version, hostname, arch, sandbox, places } = facts;
        let text =
            |path: &Option<DevicePath>| path.as_ref().map(ToString::to_string).unwrap_or_default();
        Self {
            os: os.as_str().to_owned(),
            os_version: os_version.clone(),
            hostname: hostname.clone(),
            home: text(&places.home),
            workspace: text(&places.workspace),
            arch: arch.clone(),
            sandbox: sandbox.clone(),
            projects: places.projects.written().into_iter().collect(),
            owner_file: text(&places.owner_file),
        }
    }
}

/// Parses the projects of a device.
///
/// # Errors
/// [`WireError::Field`].
pub fn projects(
    style: PathStyle,
    projects: &HashMap<String, String>,
) -> Result<Projects, WireError> {
    let entries = projects.iter().map(|(name, folder)| (name.as_str(), folder.as_str()));
    Projects::parse(style, entries).map_err(|_| WireError::Field { field: "projects" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_survive_the_wire_and_cannot_carry_terminal_codes() {
        let wire = v1::DeviceFacts {
            os: "windows".to_owned(),
            hostname: "LAP\x1b[2JTOP".to_owned(),
            home: "C:\\Users\\ann".to_owned(),
            owner_file: "C:\\orion\\agent.toml".to_owned(),
            ..v1::DeviceFacts::default()
        };
        let facts = DeviceFacts::try_from(wire).unwrap();
        assert_eq!(facts.hostname, "LAP[2JTOP");
        assert_eq!(facts.places.style, PathStyle::Windows);
        assert_eq!(DeviceFacts::try_from(v1::DeviceFacts::from(&facts)), Ok(facts));
        assert!(DeviceFacts::try_from(v1::DeviceFacts::default()).is_err());
    }

    #[test]
    fn one_minor_version_apart_is_near_enough() {
        let version = |major, minor| ProtocolVersion { major, minor };
        assert!(version(1, 1).works_with(version(1, 0)));
        assert!(!version(1, 2).works_with(version(1, 0)));
        assert!(!version(2, 0).works_with(version(1, 0)));
    }
}
