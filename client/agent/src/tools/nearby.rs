//! Suggests paths where nothing was found, so that the next attempt need not guess. Similar names near the
//! path come first, then the same name elsewhere in the same allowed path.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use cap_std::fs::{File, Metadata, OpenOptions};
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

use super::glob::folded;
use super::{Context, regular};
use crate::roots::{FileKind, Located, Roots, Wanted};
use crate::scan::{Bounds, Entry, Firsts, Handle, Reader, Visitor, scan};

const MAX_SUGGESTIONS: usize = 5;
/// Maximum number of names near the path that are compared, and of folders beside it.
const MAX_NEAR: usize = 2000;
const MAX_NEIGHBOURS: usize = 64;
const ALIKE: f64 = 0.8;
/// Limits of the search elsewhere: depth in folders, number of names, and time.
const MAX_DEPTH: usize = 3;
const MAX_ENTRIES: u64 = 50_000;
const MAX_TIME: Duration = Duration::from_secs(1);

/// Opens the regular file at a path.
///
/// # Errors
/// What is there is no regular file, or nothing is: with suggestions.
pub(super) fn open(
    located: &Located,
    options: &mut OpenOptions,
    context: &Context<'_>,
) -> Result<(File, Metadata), ToolError> {
    regular::refuse_unfit(located)?;
    let path = &located.asked;
    let Some(name) = located.name().filter(|_| located.found.is_some()) else {
        let wanted = if located.rest.len() > 1 { Wanted::Directory } else { Wanted::File };
        return Err(suggest(wanted.missing(path), located, context));
    };
    regular::open(&located.dir, name, path, options)
}

/// Adds up to five suggestions to an error: from the deepest existing folder, its subfolders, and its allowed
/// path. Suggests only paths that a call may read.
pub(super) fn suggest(error: ToolError, located: &Located, context: &Context<'_>) -> ToolError {
    let mut paths = near(located, context);
    paths.truncate(MAX_SUGGESTIONS);
    if paths.len() < MAX_SUGGESTIONS {
        for path in elsewhere(error.code, located, context) {
            if paths.len() < MAX_SUGGESTIONS && !paths.contains(&path) {
                paths.push(path);
            }
        }
    }
    if paths.is_empty() {
        let error = match deepest_above_missing(located) {
            Some(folder) => error.with("existing_folder", folder.to_string()),
            None => error,
        };
        return error.hint("use list_directory to see what is there");
    }
    error.suggesting(paths.iter().map(ToString::to_string).collect())
}

/// Returns the deepest folder that is there, where the folder of the missing path is missing too.
fn deepest_above_missing(located: &Located) -> Option<&DevicePath> {
    (located.rest.len() > 1).then_some(&located.real)
}

/// Returns similar names in the deepest existing folder and its subfolders, the most similar first.
fn near(located: &Located, context: &Context<'_>) -> Vec<DevicePath> {
    let Some(missing) = located.rest.first() else { return Vec::new() };
    let wanted: Vec<String> =
        [Some(missing), located.rest.last()].into_iter().flatten().map(|it| key(it)).collect();
    let mut scored: Vec<(f64, DevicePath)> = Vec::new();
    let mut left = MAX_NEAR;
    let mut reader = Reader::default();
    let mut look = |folder: &Handle, at: &DevicePath, below: &mut dyn FnMut(&str, DevicePath)| {
        // A folder that cannot be read gives no suggestions.
        drop(reader.each(folder, |name, what| {
            if left == 0 {
                return ControlFlow::Break(());
            }
            left -= 1;
            let Some(name) = name else { return ControlFlow::Continue(()) };
            let alike = key(name);
            let score = wanted.iter().map(|wanted| likeness(wanted, &alike)).fold(0.0, f64::max);
            // Evaluating a path costs more than comparing names, and most names are not similar.
            if score < ALIKE && what != FileKind::Folder {
                return ControlFlow::Continue(());
            }
            let Ok(path) = at.join(name) else { return ControlFlow::Continue(()) };
            if context.roots.hides(&located.root, &path)
                || !context.roots.grants(&path, Access::Read)
            {
                return ControlFlow::Continue(());
            }
            if what == FileKind::Folder {
                below(name, path.clone());
            }
            if score >= ALIKE {
                scored.push((score, path));
            }
            ControlFlow::Continue(())
        }));
    };
    let Ok(here) = Handle::again(&located.dir) else { return Vec::new() };
    let mut folders = Vec::new();
    look(&here, &located.real, &mut |name, path| {
        // A limited number of neighbours is enough.
        if folders.len() < MAX_NEIGHBOURS {
            folders.push((name.to_owned(), path));
        }
    });
    for (name, path) in folders {
        if let Ok(Some(folder)) = here.enter(&name) {
            look(&folder, &path, &mut |_, _| {});
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, path)| path).collect()
}

/// Returns paths with the requested name near the top of the same allowed path.
fn elsewhere(code: ErrorCode, located: &Located, context: &Context<'_>) -> Vec<DevicePath> {
    let (Some(name), Ok(dir)) = (located.asked.file_name(), located.root_dir.try_clone()) else {
        return Vec::new();
    };
    let top = Located {
        asked: located.root.clone(),
        dir,
        real: located.root.clone(),
        root: located.root.clone(),
        root_dir: located.root_dir.clone(),
        rest: Vec::new(),
        found: None,
    };
    let wanted = folded(name);
    let until = Some(Instant::now() + MAX_TIME);
    let bounds = Bounds { depth: MAX_DEPTH + 1, entries: MAX_ENTRIES, until };
    let look = || Look { code, wanted: &wanted, roots: context.roots, found: firsts() };
    // A failed search keeps the original error.
    let Ok((found, _)) = scan(&top, bounds, context, look) else { return Vec::new() };
    let mut best = firsts();
    found.into_iter().for_each(|look| best.merge(look.found));
    best.into_sorted().0
}

/// Ordered by depth, then by path.
type Rank = (usize, String);

fn firsts() -> Firsts<Rank, DevicePath> {
    Firsts::new(MAX_SUGGESTIONS, usize::MAX)
}

struct Look<'a> {
    code: ErrorCode,
    wanted: &'a str,
    roots: &'a Roots,
    found: Firsts<Rank, DevicePath>,
}

impl Visitor for Look<'_> {
    fn wants(&self, name: &str, what: FileKind) -> bool {
        let fits = match what {
            FileKind::File => true,
            FileKind::Folder => self.code != ErrorCode::FileNotFound,
            FileKind::Link | FileKind::Special => false,
        };
        fits && folded(name) == self.wanted
    }

    fn visit(&mut self, entry: &Entry<'_>) {
        let Some(rank) = self.found.admit((entry.folder.depth, entry.key())) else { return };
        if let Some(path) = entry.path().filter(|path| self.roots.grants(path, Access::Read)) {
            self.found.put(rank, 0, path);
        }
    }
}

/// Returns how similar two names are, from 0 to 1. Names that have only their extension in common are not.
fn likeness(wanted: &str, name: &str) -> f64 {
    let stems = strsim::jaro_winkler(stem(wanted), stem(name));
    if stems < ALIKE { 0.0 } else { strsim::jaro_winkler(wanted, name) }
}

/// Returns a name without its extension.
fn stem(name: &str) -> &str {
    name.rsplit_once('.').map_or(name, |(stem, _)| if stem.is_empty() { name } else { stem })
}

/// Returns the beginning of a name: comparing long names takes long.
fn key(name: &str) -> String {
    folded(name).chars().take(64).collect()
}

#[cfg(test)]
mod tests;
