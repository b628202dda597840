//! Places of files: a path on this computer, or a path on a device.

use std::path::{Path, PathBuf};

use orion_domain::DeviceName;

use crate::failure::Failure;
use crate::text;

/// A place of a file or folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// On this computer.
    Here(PathBuf),
    /// On a device.
    There {
        /// The device's name.
        device: String,
        /// The path as it was written, `.` for the workspace.
        path: String,
    },
}

impl Place {
    /// Parses a place. A colon before the first slash follows the name of a device. A single letter is a drive of
    /// Windows.
    pub(super) fn parse(text: &str) -> Result<Self, Failure> {
        let before = text.split(['/', '\\']).next().unwrap_or_default();
        let Some((device, _)) = before.split_once(':') else {
            return Ok(Self::Here(PathBuf::from(text)));
        };
        if cfg!(windows) && device.len() == 1 {
            return Ok(Self::Here(PathBuf::from(text)));
        }
        let path = text.get(device.len() + 1..).unwrap_or_default();
        if device.parse::<DeviceName>().is_err() {
            let shown = text::one_line(device, 80);
            return Err(Failure::Usage(format!("`{shown}` is no name of a device"))
                .hint("write DEVICE:PATH, or ./ before a file here whose name has a colon"));
        }
        let path = if path.is_empty() { "." } else { path };
        Ok(Self::There { device: device.to_owned(), path: path.to_owned() })
    }

    /// Returns whether the place is on this computer.
    pub(super) const fn is_here(&self) -> bool {
        matches!(self, Self::Here(_))
    }

    /// Returns the whole destination of a source: a folder gets the source's name as its last one.
    pub(super) fn of(&self, source: &Self) -> Result<Self, Failure> {
        let is_folder = match self {
            Self::Here(path) => path.is_dir() || ends_with_slash(&path.to_string_lossy()),
            Self::There { path, .. } => path == "." || ends_with_slash(path),
        };
        if !is_folder {
            return Ok(self.clone());
        }
        let name = source.name().ok_or_else(|| {
            Failure::Usage("the source has no last name, so write the whole destination".to_owned())
        })?;
        Ok(self.join(&[&name]))
    }

    /// Returns the place below this one.
    pub(super) fn join(&self, names: &[&str]) -> Self {
        match self {
            Self::Here(path) => {
                Self::Here(names.iter().fold(path.clone(), |path, name| path.join(name)))
            }
            Self::There { device, path } => {
                let below = names.join("/");
                let path = match path.as_str() {
                    "." => below,
                    path => format!("{}/{below}", path.trim_end_matches(['/', '\\'])),
                };
                Self::There { device: device.clone(), path }
            }
        }
    }

    /// Returns the last name.
    fn name(&self) -> Option<String> {
        let name = match self {
            // `.` and `..` have a name once they are resolved.
            Self::Here(path) => named(path).or_else(|| named(&path.canonicalize().ok()?))?,
            Self::There { path, .. } => {
                let path = path.trim_end_matches(['/', '\\']);
                path.rsplit(['/', '\\']).next()?.to_owned()
            }
        };
        (!["", ".", "..", "~"].contains(&name.as_str())).then_some(name)
    }

    /// Returns the place as people write it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Here(path) => path.display().to_string(),
            Self::There { device, path } => format!("{device}:{path}"),
        }
    }
}

fn named(path: &Path) -> Option<String> {
    path.file_name().map(|name| name.to_string_lossy().into_owned())
}

fn ends_with_slash(text: &str) -> bool {
    text.ends_with(['/', '\\'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn there(device: &str, path: &str) -> Place {
        Place::There { device: device.to_owned(), path: path.to_owned() }
    }

    #[test]
    fn a_colon_before_the_first_slash_follows_a_device() {
        let parsed = |text: &str| Place::parse(text).unwrap();
        assert_eq!(parsed("laptop-123:report.pdf"), there("laptop-123", "report.pdf"));
        assert_eq!(parsed("laptop-123:"), there("laptop-123", "."));
        assert_eq!(parsed("laptop-123:C:/Users/ann"), there("laptop-123", "C:/Users/ann"));
        assert_eq!(parsed("./a:b"), Place::Here("./a:b".into()));
        assert_eq!(parsed("a/b:c"), Place::Here("a/b:c".into()));
        assert_eq!(Place::parse("No Device:x").unwrap_err().exit_code(), 2);
    }

    #[test]
    fn a_folder_gets_the_name_of_the_source() {
        let source = there("laptop-123", "Documents/report.pdf");
        let to = |destination: Place| destination.of(&source).unwrap();
        assert_eq!(to(there("server-1", ".")), there("server-1", "report.pdf"));
        assert_eq!(to(there("server-1", "Archive/")), there("server-1", "Archive/report.pdf"));
        assert_eq!(to(there("server-1", "new.pdf")), there("server-1", "new.pdf"));
        let here = std::env::temp_dir();
        assert_eq!(to(Place::Here(here.clone())), Place::Here(here.join("report.pdf")));
        assert!(there("server-1", ".").of(&there("laptop-123", ".")).is_err());
    }
}
