//! The folders against which a device's relative paths and `~` resolve.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::error::shown;
use super::{DevicePath, PathError, PathStyle, Projects};

/// The style of a device, its workspace and its home folder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Places {
    /// The device's style; the folders below have the same style.
    pub style: PathStyle,
    /// The folder where relative paths start. `None` means that they are rejected.
    pub workspace: Option<DevicePath>,
    /// The folder that `~` means. `None` where it is unknown.
    pub home: Option<DevicePath>,
    /// The owner's projects, which some calls name.
    #[serde(skip_serializing_if = "Projects::is_empty")]
    pub projects: Projects,
    /// Where the owner's file is, if not where `orion-agent` has it without options. Only hints name it.
    #[serde(skip)]
    pub owner_file: Option<DevicePath>,
}

/// Places as sent, before their paths are parsed by their style.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    style: PathStyle,
    #[serde(default)]
    workspace: Option<String>,
    #[serde(default)]
    home: Option<String>,
    #[serde(default)]
    projects: BTreeMap<String, String>,
}

impl TryFrom<Written> for Places {
    type Error = String;

    fn try_from(written: Written) -> Result<Self, String> {
        let Written { style, workspace, home, projects } = written;
        let places = Self::parse(style, workspace.as_deref(), home.as_deref());
        let projects = projects.iter().map(|(name, folder)| (name.as_str(), folder.as_str()));
        let projects = Projects::parse(style, projects).map_err(|error| error.to_string())?;
        Ok(Self { projects, ..places.map_err(|error| error.to_string())? })
    }
}

impl Places {
    /// Parses a device's places from absolute paths of its own style.
    ///
    /// # Errors
    /// As [`DevicePath::parse`], for either folder.
    pub fn parse(
        style: PathStyle,
        workspace: Option<&str>,
        home: Option<&str>,
    ) -> Result<Self, PathError> {
        let read = |text| DevicePath::parse(style, text);
        Ok(Self {
            style,
            workspace: workspace.map(read).transpose()?,
            home: home.map(read).transpose()?,
            projects: Projects::default(),
            owner_file: None,
        })
    }

    /// Creates the places of a device of which nothing is known but its style.
    #[must_use]
    pub fn bare(style: PathStyle) -> Self {
        let projects = Projects::default();
        Self { style, workspace: None, home: None, projects, owner_file: None }
    }

    /// Returns the folder that a relative text starts from, and the rest of the text.
    ///
    /// `~`, the home variables and unknown variables count only as the whole first component:
    /// `~$draft.docx` and `$RECYCLE.BIN` are ordinary names.
    pub(super) fn start_of<'a>(&self, text: &'a str) -> Result<(&DevicePath, &'a str), PathError> {
        let end = text.find(|character| self.style.separates(character)).unwrap_or(text.len());
        let (first, rest) = text.split_at(end);
        if self.is_home(first) {
            return Ok((self.home.as_ref().ok_or(PathError::NoHome)?, rest));
        }
        if self.is_variable(first) {
            return Err(PathError::UnknownVariable { name: shown(first) });
        }
        Ok((self.workspace.as_ref().ok_or(PathError::NotAbsolute)?, text))
    }

    fn is_home(&self, first: &str) -> bool {
        match self.style {
            PathStyle::Posix => matches!(first, "~" | "$HOME" | "${HOME}"),
            PathStyle::Windows => {
                matches!(first, "~" | "$HOME" | "${HOME}")
                    || first.eq_ignore_ascii_case("%USERPROFILE%")
            }
        }
    }

    /// Returns whether a shell would expand this component. Taken literally it would name another file
    /// than intended.
    fn is_variable(&self, first: &str) -> bool {
        let braced = |open: &str, close: &str| {
            first.strip_prefix(open).and_then(|name| name.strip_suffix(close))
        };
        let percent = match self.style {
            PathStyle::Posix => None,
            PathStyle::Windows => braced("%", "%"),
        };
        [first.strip_prefix('~'), first.strip_prefix('$'), braced("${", "}"), percent]
            .into_iter()
            .flatten()
            .any(is_identifier)
    }
}

fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || matches!(character, '_' | '-'))
}
