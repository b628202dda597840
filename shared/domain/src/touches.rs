//! What a call would touch. Policy sees only this, never a tool's own arguments.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::observation::{MOST_OBSERVED, Observation};
use crate::path::DevicePath;

/// What is done with a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Access {
    /// Content, names or metadata are seen.
    Read,
    /// Something is made or changed.
    Write,
    /// Something goes away.
    Delete,
    /// What is written may start programs.
    Execute,
}

impl Access {
    /// The word that policy files use.
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

/// One path and what is done with it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PathTouch {
    /// Absolute, by the device's rules.
    pub path: DevicePath,
    /// What is done with it.
    pub access: Access,
}

/// Everything that one call would touch. Empty means that it touches nothing but the tool itself.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Touches {
    /// Files and folders.
    pub paths: Vec<PathTouch>,
    /// Names of applications of the device's list.
    pub apps: Vec<String>,
    /// URLs that an application is to open.
    pub urls: Vec<String>,
    /// Whether the paths that are folders are taken with all that is in them: deleted, moved, copied
    /// or gone through. It follows from the tool and its arguments.
    #[serde(skip)]
    pub whole: bool,
}

impl Touches {
    /// A call that touches nothing but the tool itself.
    #[must_use]
    pub fn nothing() -> Self {
        Self::default()
    }

    /// A call that touches one path.
    #[must_use]
    pub fn path(path: DevicePath, access: Access) -> Self {
        Self { paths: vec![PathTouch { path, access }], ..Self::default() }
    }

    /// The same, and one more access to one more path.
    #[must_use]
    pub fn and_path(mut self, path: DevicePath, access: Access) -> Self {
        self.paths.push(PathTouch { path, access });
        self
    }

    /// Whether each path, of the first so many as are observed, has an observation among these.
    #[must_use]
    pub fn are_all_in(&self, observed: &[Observation]) -> bool {
        let mut named = BTreeSet::new();
        let paths = self.paths.iter().map(|touch| touch.path.to_string());
        let paths = paths.filter(|path| named.insert(path.clone())).take(MOST_OBSERVED);
        paths.into_iter().all(|path| observed.iter().any(|seen| seen.path == path))
    }

    /// What both touch.
    #[must_use]
    pub fn and(mut self, other: Self) -> Self {
        for touch in other.paths {
            if !self.paths.contains(&touch) {
                self.paths.push(touch);
            }
        }
        self.apps.extend(other.apps);
        self.urls.extend(other.urls);
        Self { whole: self.whole || other.whole, ..self }
    }

    /// The same, with all that is in the folders among the paths.
    #[must_use]
    pub fn and_all_in_it(self) -> Self {
        Self { whole: true, ..self }
    }
}
