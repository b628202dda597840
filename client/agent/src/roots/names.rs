//! Other names of the same places. A folder that is lent, or one that is kept out, may stand behind
//! a link, and what is kept out has to be so by every name.
//!
//! Not here: links beneath a lent folder. Those are read one by one on the way to a path; this is
//! about the links above, which are the device's own and which the operating system follows.

use std::io::ErrorKind;

use orion_domain::DevicePath;
use orion_domain::path::covers;

/// What is known of links above the paths that count.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Lent folders: as they are named, and where they really are.
    lent: Vec<(DevicePath, DevicePath)>,
    /// What is kept out: where it really is, and as it is named. Only where these differ.
    kept: Vec<(DevicePath, DevicePath)>,
}

impl Names {
    /// Looks up where the folders that are lent and those that are kept out really are.
    pub(super) fn new<'a>(
        lent: impl IntoIterator<Item = &'a DevicePath>,
        kept: impl IntoIterator<Item = &'a DevicePath>,
    ) -> Self {
        let lent = lent.into_iter().map(|named| (named.clone(), real_path(named))).collect();
        let kept = kept
            .into_iter()
            .map(|named| (real_path(named), named.clone()))
            .filter(|(real, named)| !(real.contains(named) && named.contains(real)))
            .collect();
        Self { lent, kept }
    }

    /// Where a lent folder was found to be.
    pub(super) fn of_granted(&self, named: &DevicePath) -> Option<&DevicePath> {
        self.lent.iter().find(|(known, _)| known == named).map(|(_, real)| real)
    }

    /// Where the things that are kept out really are, if that is elsewhere than their names say.
    pub(super) fn of_kept(&self) -> impl Iterator<Item = &DevicePath> {
        self.kept.iter().map(|(real, _)| real)
    }

    /// A path beneath a lent folder by the name that it has without links above that folder.
    pub(super) fn real(&self, path: &DevicePath) -> DevicePath {
        self.reals(path)
            .filter_map(|(_, real)| real)
            .max_by_key(|real| real.components().len())
            .unwrap_or_else(|| path.clone())
    }

    /// Whether something holds for a path by one of its other names, or is a system folder by one
    /// of them. A name that cannot be written is held to be the worst.
    pub(super) fn any(&self, path: &DevicePath, holds: impl Fn(&DevicePath) -> bool) -> bool {
        let kept = |path: &DevicePath| {
            let mut names = self.kept.iter().filter(|(real, _)| real.contains(path));
            names.any(|(real, named)| moved(path, real, named).is_none_or(|name| holds(&name)))
        };
        kept(path)
            || self.reals(path).any(|(lent, real)| {
                real.is_none_or(|real| !covers(lent, &real) || holds(&real) || kept(&real))
            })
    }

    /// The path beneath each lent folder that is a link or stands behind one.
    fn reals<'a>(
        &'a self,
        path: &'a DevicePath,
    ) -> impl Iterator<Item = (&'a DevicePath, Option<DevicePath>)> {
        let lent =
            self.lent.iter().filter(move |(named, real)| named != real && named.contains(path));
        lent.map(move |(named, real)| (real, moved(path, named, real)))
    }
}

/// `path` with `to` in the place of `from`, which holds it.
fn moved(path: &DevicePath, from: &DevicePath, to: &DevicePath) -> Option<DevicePath> {
    let below = path.relative_to(from)?;
    below.into_iter().try_fold(to.clone(), |to, name| to.join(name).ok())
}

/// A path without links, as far as it is there; the names that are missing follow as they are.
pub(super) fn real_path(path: &DevicePath) -> DevicePath {
    let mut there = Some(path.clone());
    while let Some(here) = there {
        match std::fs::canonicalize(here.to_string()) {
            Ok(real) => {
                // Windows writes what it looked up in a form that says so.
                let real = real.to_str().map(|it| match it.strip_prefix(r"\\?\UNC\") {
                    Some(share) => format!(r"\\{share}"),
                    None => it.strip_prefix(r"\\?\").unwrap_or(it).to_owned(),
                });
                return real
                    .and_then(|real| DevicePath::parse(path.style(), &real).ok())
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
