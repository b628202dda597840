//! The contexts of one person: `context.toml`, named `default`, and `contexts/NAME.toml`. The file `current` says
//! which of them is used.

use std::path::{Path, PathBuf};

use orion_domain::Hint;

use super::{ContextFile, write_private};
use crate::failure::Failure;
use crate::input;

/// The name of `context.toml`.
pub(crate) const DEFAULT: &str = "default";
/// The maximum length of a name.
const MAX_NAME: usize = 64;
/// The maximum number of contexts that are listed.
const MAX_LISTED: usize = 1_000;

/// A person's configuration folder for Orion.
#[derive(Debug, Clone)]
pub(crate) struct Contexts {
    folder: PathBuf,
}

impl Contexts {
    /// Creates a handle to the contexts in a folder, which need not exist.
    pub(crate) const fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Returns the folder of this person. `None` on a system without one.
    pub(crate) fn of_person() -> Option<Self> {
        let dirs = directories::ProjectDirs::from("", "", "orion")?;
        Some(Self::new(dirs.config_dir().to_owned()))
    }

    /// Returns the file of a context, whether it exists or not.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        match name {
            DEFAULT => self.folder.join("context.toml"),
            name => self.folder.join("contexts").join(format!("{name}.toml")),
        }
    }

    /// Returns the name of a file of these contexts.
    pub(crate) fn name_of(&self, path: &Path) -> Option<String> {
        if path == self.file(DEFAULT) {
            return Some(DEFAULT.to_owned());
        }
        let name = path.file_stem()?.to_str()?.to_owned();
        (path == self.file(&name)).then_some(name)
    }

    /// Returns the name of the context that is used.
    ///
    /// # Errors
    /// The file `current` cannot be read, or names none.
    pub(crate) fn current(&self) -> Result<String, Failure> {
        let path = self.folder.join("current");
        if !path.exists() {
            return Ok(DEFAULT.to_owned());
        }
        let name = input::file(&path)?.trim().to_owned();
        if is_name(&name) {
            return Ok(name);
        }
        Err(Failure::Usage(format!("{} names no context", path.display()))
            .hint(Hint::run("choose one", "orion context use NAME")))
    }

    /// Uses this context from now on.
    ///
    /// # Errors
    /// The file `current` cannot be written.
    pub(crate) fn set_current(&self, name: &str) -> Result<(), Failure> {
        write_private(&self.folder.join("current"), format!("{name}\n").as_bytes())
    }

    /// Returns this name, or the first like it that no context has: two backends may share a host.
    pub(crate) fn free_name(&self, name: &str) -> String {
        let is_free = |name: &String| !self.file(name).exists();
        let others = (2..100).map(|number| format!("{name}-{number}"));
        std::iter::once(name.to_owned()).chain(others).find(is_free).unwrap_or(name.to_owned())
    }

    /// Returns the first context of a backend, with its file. `None` if none can be read.
    pub(super) fn of_backend(&self, backend: &str) -> Option<(PathBuf, ContextFile)> {
        self.names().ok()?.iter().find_map(|name| {
            let path = self.file(name);
            let file = ContextFile::read(&path).ok()?;
            let is_it = file.backend.as_ref()?.trim_end_matches('/') == backend;
            is_it.then_some((path, file))
        })
    }

    /// Returns the names of all contexts, `default` first.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn names(&self) -> Result<Vec<String>, Failure> {
        let folder = self.folder.join("contexts");
        let mut names = Vec::new();
        if folder.exists() {
            let listed = std::fs::read_dir(&folder).map_err(|error| {
                Failure::Failed(format!("{} cannot be read: {error}", folder.display()))
                    .hint("check who owns the folder, and its permissions")
            })?;
            let files = listed.filter_map(Result::ok).map(|entry| entry.path());
            names.extend(files.filter_map(|path| self.name_of(&path)).take(MAX_LISTED));
        }
        names.sort_unstable();
        if self.file(DEFAULT).exists() {
            names.insert(0, DEFAULT.to_owned());
        }
        Ok(names)
    }
}

/// Returns whether a text can be the name of a context: it is part of a file's name.
pub(crate) fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    (1..=MAX_NAME).contains(&text.len())
        && text.chars().all(is_part)
        && !text.starts_with(['.', '-'])
        && !text.ends_with(".toml")
}

/// Returns a name for the contexts of a backend: the host of its address, with its port if that is not the usual one.
pub(crate) fn name_for(backend: &str) -> String {
    let host = backend.split_once("://").map_or(backend, |(_, rest)| rest);
    let host = host.split('/').next().unwrap_or(host).trim_end_matches(":7080");
    let part = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
    let name: String = host.chars().map(part).skip_while(|c| !c.is_ascii_alphanumeric()).collect();
    let name = name.get(..name.len().min(MAX_NAME)).unwrap_or_default().to_owned();
    if is_name(&name) && name != DEFAULT { name } else { "backend".to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_context_is_a_file_of_its_name_and_the_default_is_used_until_another_is_chosen() {
        let folder = tempfile::tempdir().unwrap();
        let contexts = Contexts::new(folder.path().to_owned());
        assert_eq!(contexts.current().unwrap(), DEFAULT);
        assert_eq!(contexts.names().unwrap(), Vec::<String>::new());
        for name in ["work", DEFAULT, "home"] {
            write_private(&contexts.file(name), b"").unwrap();
            assert_eq!(contexts.name_of(&contexts.file(name)).unwrap(), name);
        }
        write_private(&folder.path().join("contexts/.hidden"), b"").unwrap();
        assert_eq!(contexts.names().unwrap(), [DEFAULT, "home", "work"]);
        contexts.set_current("work").unwrap();
        assert_eq!(contexts.current().unwrap(), "work");
        std::fs::write(folder.path().join("current"), "../../etc/passwd").unwrap();
        assert_eq!(contexts.current().unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_name_is_no_path() {
        for name in ["work", "orion.example", "a_b-1"] {
            assert!(is_name(name), "{name}");
        }
        for path in ["", ".", "..", "a/b", "a\\b", "work.toml", "-o", &"x".repeat(65)] {
            assert!(!is_name(path), "{path}");
        }
    }

    #[test]
    fn a_backend_gives_its_context_a_name() {
        assert_eq!(name_for("https://orion.example"), "orion.example");
        assert_eq!(name_for("https://orion.example:7080/"), "orion.example");
        assert_eq!(name_for("https://orion.example:8443"), "orion.example-8443");
        assert_eq!(name_for("http://[::1]:7080"), "1-");
        assert_eq!(name_for("https://default"), "backend");
    }
}
