//! Resolves a path of the owner's file: follows its links, and finds what is there.

use std::fs::{self, Metadata};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use orion_domain::DevicePath;

use crate::roots::ordinary;

/// What is at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A folder.
    Folder,
    /// A file, or anything else that is not a folder.
    File,
    /// Nothing.
    Missing,
    /// Unknown: this account may not look it up.
    Hidden,
}

impl Kind {
    /// Returns the word for people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Folder => "folder",
            Self::File => "no folder",
            Self::Missing => "missing",
            Self::Hidden => "unreadable",
        }
    }
}

/// A resolved path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfiguredPath {
    /// The path with its links resolved. Missing names follow as written.
    pub real: DevicePath,
    /// What is at the path.
    pub kind: Kind,
    /// Whether the path goes through a link.
    pub is_link: bool,
}

impl ConfiguredPath {
    /// Looks up a path on the disk.
    #[must_use]
    pub fn of(path: &DevicePath) -> Self {
        let named = PathBuf::from(path.to_string());
        let kind = match fs::metadata(&named) {
            Ok(metadata) if metadata.is_dir() => Kind::Folder,
            Ok(_) => Kind::File,
            Err(error)
                if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) =>
            {
                Kind::Missing
            }
            Err(_) => Kind::Hidden,
        };
        let real = real(&named)
            .and_then(|real| DevicePath::parse(path.style(), ordinary(real).to_str()?).ok());
        let real = real.unwrap_or_else(|| path.clone());
        let is_link = !(real.contains(path) && path.contains(&real));
        Self { real, kind, is_link }
    }
}

/// Returns the path with its links resolved. Missing names follow as written.
fn real(path: &Path) -> Option<PathBuf> {
    path.ancestors().find_map(|there| {
        let below = path.strip_prefix(there).ok()?;
        let real = fs::canonicalize(there).ok()?;
        Some(if below.as_os_str().is_empty() { real } else { real.join(below) })
    })
}

/// Returns whether names that differ only in case are the same file here.
#[must_use]
pub fn ignores_case(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()) else { return false };
    let other: String =
        name.chars()
            .map(|c| {
                if c.is_ascii_lowercase() { c.to_ascii_uppercase() } else { c.to_ascii_lowercase() }
            })
            .collect();
    let metadata = |path: &Path| fs::symlink_metadata(path).ok();
    other != name
        && metadata(path)
            .zip(metadata(&path.with_file_name(other)))
            .is_some_and(|(one, other)| is_same(&one, &other))
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    true
}

/// Returns the name of the entry in the same folder that is written nearly like the last name of a path.
#[must_use]
pub fn near_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let entries = fs::read_dir(path.parent()?).ok()?;
    let near = |found: &String| strsim::normalized_damerau_levenshtein(name, found);
    let names = entries.take(10_000).flatten().filter_map(|it| it.file_name().into_string().ok());
    // A name with characters that a terminal acts on is not shown.
    let is_plain = |found: &String| orion_domain::strip_hidden(found, usize::MAX) == *found;
    let names = names.filter(|found| found != name && is_plain(found) && near(found) >= 0.75);
    names.max_by(|a, b| near(a).total_cmp(&near(b)))
}

/// Returns the name of the entry in the same folder that differs only in case.
#[must_use]
pub fn other_case(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let entries = fs::read_dir(path.parent()?).ok()?;
    // The search stops after 10,000 entries: in a larger folder a guess is not worth the time.
    entries.take(10_000).flatten().find_map(|entry| {
        let found = entry.file_name().into_string().ok()?;
        (found != name && found.to_lowercase() == name.to_lowercase()).then_some(found)
    })
}
