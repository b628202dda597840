//! Other names of the same places. A granted or denied folder may be behind a link, and a denied one must
//! be denied by every name.
//!
//! Does not handle links beneath a granted folder: the walk to a path reads those one by one. This is about
//! the links above, which are the device's own and which the operating system follows.

use std::io::ErrorKind;
use std::path::PathBuf;

use orion_domain::DevicePath;
use orion_domain::path::covers;
use serde::{Deserialize, Serialize};

/// The real paths of granted and denied folders.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct Names {
    /// Granted folders: path as named, and real path.
    granted: Vec<(DevicePath, DevicePath)>,
    /// Denied paths: real path, and path as named. Only those where the two differ.
    kept: Vec<(DevicePath, DevicePath)>,
}

impl Names {
    /// Looks up the real paths of granted and denied folders.
    pub(super) fn new<'a>(
        granted: impl IntoIterator<Item = &'a DevicePath>,
        kept: impl IntoIterator<Item = &'a DevicePath>,
    ) -> Self {
        let granted = granted.into_iter().map(|named| (named.clone(), real_path(named))).collect();
        let kept = kept
            .into_iter()
            .map(|named| (real_path(named), named.clone()))
            .filter(|(real, named)| !(real.contains(named) && named.contains(real)))
            .collect();
        Self { granted, kept }
    }

    /// Returns the real path of a granted folder.
    pub(super) fn of_granted(&self, named: &DevicePath) -> Option<&DevicePath> {
        self.granted.iter().find(|(known, _)| known == named).map(|(_, real)| real)
    }

    /// Returns the real paths of the denied paths that are named otherwise.
    pub(super) fn of_kept(&self) -> impl Iterator<Item = &DevicePath> {
        self.kept.iter().map(|(real, _)| real)
    }

    /// Returns a path beneath a granted folder without the links above that folder.
    pub(super) fn real(&self, path: &DevicePath) -> DevicePath {
        self.reals(path)
            .filter_map(|(_, real)| real)
            .max_by_key(|real| real.components().len())
            .unwrap_or_else(|| path.clone())
    }

    /// Returns whether `holds` is true for one of the path's other names, or one of them is a system
    /// folder. A name that cannot be formed counts as true, the safe answer.
    pub(super) fn any(&self, path: &DevicePath, holds: impl Fn(&DevicePath) -> bool) -> bool {
        let kept = |path: &DevicePath| {
            let mut names = self.kept.iter().filter(|(real, _)| real.contains(path));
            names.any(|(real, named)| moved(path, real, named).is_none_or(|name| holds(&name)))
        };
        kept(path)
            || self.reals(path).any(|(granted, real)| {
                real.is_none_or(|real| !covers(granted, &real) || holds(&real) || kept(&real))
            })
    }

    /// Returns the path's name beneath each granted folder that is a link or behind one.
    fn reals<'a>(
        &'a self,
        path: &'a DevicePath,
    ) -> impl Iterator<Item = (&'a DevicePath, Option<DevicePath>)> {
        let granted =
            self.granted.iter().filter(move |(named, real)| named != real && named.contains(path));
        granted.map(move |(named, real)| (real, moved(path, named, real)))
    }
}

/// Returns `path` with its prefix `from` replaced by `to`.
fn moved(path: &DevicePath, from: &DevicePath, to: &DevicePath) -> Option<DevicePath> {
    let below = path.relative_to(from)?;
    below.into_iter().try_fold(to.clone(), |to, name| to.join(name).ok())
}

/// Returns a canonical path in the form that people and programs know: Windows gives it the prefix `\\?\`.
pub(crate) fn ordinary(path: PathBuf) -> PathBuf {
    let Some(prefixed) = path.to_str().and_then(|text| text.strip_prefix(r"\\?\")) else {
        return path;
    };
    match prefixed.strip_prefix(r"UNC\") {
        Some(share) => PathBuf::from(format!(r"\\{share}")),
        None => PathBuf::from(prefixed),
    }
}

/// Returns a path with its links resolved. Missing names follow as written.
pub(super) fn real_path(path: &DevicePath) -> DevicePath {
    let mut there = Some(path.clone());
    while let Some(here) = there {
        match std::fs::canonicalize(here.to_string()) {
            Ok(real) => {
                return ordinary(real)
                    .to_str()
                    .and_then(|real| DevicePath::parse(path.style(), real).ok())
                    .and_then(|real| moved(path, &here, &real))
                    .unwrap_or_else(|| path.clone());
            }
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    tracing::debug!(kind = %error.kind(), "a path could not be looked up");
                }
                there = here.parent();
            }
        }
    }
    path.clone()
}
