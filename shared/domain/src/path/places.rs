//! Where a device's relative paths and `~` begin.

use serde::{Deserialize, Serialize};

use super::error::shown;
use super::{DevicePath, PathError, PathStyle};

/// The style of a device and the folders that its people's short forms start at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Written")]
pub struct Places {
    /// The device's style; the folders below are of the same.
    pub style: PathStyle,
    /// Where relative paths start.
    pub workspace: Option<DevicePath>,
    /// What `~` stands for.
    pub home: Option<DevicePath>,
}

/// Places as they are sent, before their paths are read by the style beside them.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    style: PathStyle,
    #[serde(default)]
    workspace: Option<String>,
    #[serde(default)]
    home: Option<String>,
}

impl TryFrom<Written> for Places {
    type Error = PathError;

    fn try_from(written: Written) -> Result<Self, PathError> {
        let Written { style, workspace, home } = written;
        Self::parse(style, workspace.as_deref(), home.as_deref())
    }
}

impl Places {
    /// The places of a device, from absolute paths of its own style.
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
        })
    }

    /// The folder that a text which isn't absolute starts from, and what follows it.
    ///
    /// `~`, the home variables and unknown variables count as the whole first component only: `~$draft.docx` and
    /// `$RECYCLE.BIN` are names like any other.
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

    /// Whether a shell would put something else in this component's place. Taken literally it would name another file than is meant.
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
