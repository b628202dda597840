//! Names of files in an archive.

use std::fmt;
use std::path::{Path, PathBuf};

use orion_domain::{ToolError, visible};

use super::unfit;

/// The longest name of a file, with its folders, in bytes.
const MAX_NAME_BYTES: usize = 1024;
/// The longest name of one file or folder, in bytes.
const MAX_PART_BYTES: usize = 255;
/// How many folders deep a file may be.
const MAX_DEPTH: usize = 32;

/// A name inside an archive, relative to its root. It leads nowhere else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::tools) struct InnerName(PathBuf);

impl InnerName {
    /// Parses a name. `None` for the root itself.
    ///
    /// # Errors
    /// An absolute name, one with `..`, and one that systems read differently.
    pub(super) fn parse(name: &str) -> Result<Option<Self>, ToolError> {
        let refuse = |why: &str| {
            let shown: String = visible(name).chars().take(200).collect();
            unfit(format!("The archive has the name `{shown}`, which {why}. Nothing is unpacked."))
        };
        if name.len() > MAX_NAME_BYTES {
            return Err(refuse("is too long"));
        }
        if name.starts_with('/') {
            return Err(refuse("is absolute"));
        }
        if name.chars().any(|it| it.is_control() || it == '\\') {
            return Err(refuse("has characters that systems read differently"));
        }
        let mut path = PathBuf::new();
        for part in name.split('/') {
            match part {
                "" | "." => {}
                ".." => return Err(refuse("leads out of the archive")),
                part if part.len() > MAX_PART_BYTES => return Err(refuse("is too long")),
                part => path.push(part),
            }
        }
        match path.components().count() {
            0 => Ok(None),
            depth if depth > MAX_DEPTH => Err(refuse("is too deep")),
            _ => Ok(Some(Self(path))),
        }
    }

    /// Returns the name as a relative path.
    pub(in crate::tools) fn path(&self) -> &Path {
        &self.0
    }
}

impl fmt::Display for InnerName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.display().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_leads_into_the_archive_or_is_refused() {
        let parsed = |name: &str| {
            InnerName::parse(name).map(|it| it.map(|it| it.to_string())).map_err(|it| it.message)
        };
        for (name, expected) in [
            ("a", Some("a")),
            ("./a/b", Some("a/b")),
            ("a//b/", Some("a/b")),
            ("a/.b", Some("a/.b")),
            ("...", Some("...")),
            ("", None),
            ("./", None),
        ] {
            assert_eq!(parsed(name), Ok(expected.map(ToOwned::to_owned)), "{name}");
        }
        let deep = "a/".repeat(MAX_DEPTH + 1);
        let long = "a".repeat(MAX_PART_BYTES + 1);
        for name in [
            "/a",
            "//a",
            "..",
            "../a",
            "a/../../b",
            "a/..",
            "a\\..\\b",
            "a\nb",
            "a\0b",
            &deep,
            &long,
        ] {
            assert!(parsed(name).is_err(), "{name}");
        }
    }
}
