//! The owner's projects: names for folders of a device.

use std::collections::BTreeMap;

use serde::Serialize;

use super::{DevicePath, PathStyle};

/// The most projects of a device.
pub const MAX_PROJECTS: usize = 32;
/// The longest name of a project, in bytes.
const MAX_NAME_BYTES: usize = 64;
/// Means every project where a call names one.
pub const ALL_PROJECTS: &str = "all";

/// Folders by their names. A name is one plain word, so that no path with a separator is one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Projects(BTreeMap<String, DevicePath>);

/// Why projects cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProjectError {
    /// There are too many.
    #[error("there are more than {MAX_PROJECTS} projects")]
    TooMany,
    /// A name is not plain.
    #[error(
        "`{0}` is no name of a project: it has letters, digits, `.`, `_` and `-`, and is not `all`"
    )]
    Name(String),
    /// A folder is no absolute path of the device.
    #[error("the folder of the project `{0}` is no absolute path")]
    Folder(String),
}

impl Projects {
    /// Parses names with the absolute paths of their folders.
    ///
    /// # Errors
    /// [`ProjectError`].
    pub fn parse<'a>(
        style: PathStyle,
        entries: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ProjectError> {
        let path = |text: &str| DevicePath::parse(style, text).ok();
        Self::of(entries.into_iter().map(|(name, folder)| (name.to_owned(), path(folder))))
    }

    /// Creates the value from names with their folders; `None` is a folder that could not be read.
    ///
    /// # Errors
    /// [`ProjectError`].
    pub fn of(
        entries: impl IntoIterator<Item = (String, Option<DevicePath>)>,
    ) -> Result<Self, ProjectError> {
        let mut projects = BTreeMap::new();
        for (name, folder) in entries {
            if projects.len() == MAX_PROJECTS {
                return Err(ProjectError::TooMany);
            }
            if !is_name(&name) {
                let shown: String = name.chars().take(MAX_NAME_BYTES).collect();
                return Err(ProjectError::Name(shown.escape_debug().to_string()));
            }
            let Some(folder) = folder else { return Err(ProjectError::Folder(name)) };
            projects.insert(name, folder);
        }
        Ok(Self(projects))
    }

    /// Returns the folder of a project.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&DevicePath> {
        self.0.get(name)
    }

    /// Returns the projects, by name.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &DevicePath)> {
        self.0.iter().map(|(name, folder)| (name.as_str(), folder))
    }

    /// Returns the names.
    #[must_use]
    pub fn names(&self) -> Vec<&str> {
        self.0.keys().map(String::as_str).collect()
    }

    /// Returns the projects as text, for the wire and the database.
    #[must_use]
    pub fn written(&self) -> BTreeMap<String, String> {
        self.iter().map(|(name, folder)| (name.to_owned(), folder.to_string())).collect()
    }

    /// Returns whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
    let starts = name.starts_with(|first: char| first.is_ascii_alphanumeric());
    starts && name.len() <= MAX_NAME_BYTES && name.bytes().all(fits) && name != ALL_PROJECTS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_a_plain_name_and_an_absolute_folder() {
        let parse = |name: &str, folder: &str| Projects::parse(PathStyle::Posix, [(name, folder)]);
        let one = parse("backend", "/srv/app/api").unwrap();
        assert_eq!(one.get("backend").unwrap().to_string(), "/srv/app/api");
        assert_eq!((one.get("front"), one.names()), (None, vec!["backend"]));
        for name in
            ["", "all", "a/b", "a\\b", "..", ".", "-a", "~", "a b", "\u{e9}", &"a".repeat(65)]
        {
            assert!(matches!(parse(name, "/srv"), Err(ProjectError::Name(_))), "{name}");
        }
        for folder in ["", "srv", "~/app", "C:/app"] {
            assert_eq!(parse("a", folder), Err(ProjectError::Folder("a".to_owned())), "{folder}");
        }
        let names: Vec<_> = (0..=MAX_PROJECTS).map(|number| format!("p{number}")).collect();
        let many = names.iter().map(|name| (name.as_str(), "/srv"));
        assert_eq!(Projects::parse(PathStyle::Posix, many), Err(ProjectError::TooMany));
        let most = names.iter().skip(1).map(|name| (name.as_str(), "/srv"));
        assert_eq!(Projects::parse(PathStyle::Posix, most).unwrap().names().len(), MAX_PROJECTS);
    }
}
