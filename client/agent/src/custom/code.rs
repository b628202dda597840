//! The files that a custom tool consists of: its program, its code, and the files that fixed arguments name. No call
//! may be able to change them, nor the links that lead to them: the definition was approved with them.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};

use orion_commands::Program;
use orion_domain::{Access, Actor, DevicePath, ErrorCode, Hint, PathStyle, Places, ToolError};

use super::start::Wanted;
use crate::programs::{Code, FoundProgram, Programs, handle};
use crate::roots::Roots;

/// The most links on the way to a file; more are most likely a loop.
const MAX_LINKS: usize = 40;

/// Finds the program of a custom tool, with a handle of its file.
///
/// # Errors
/// `NOT_SUPPORTED` where there is no such program, `PATH_NOT_ALLOWED` for one that calls may change.
pub(super) fn program(
    programs: &Programs,
    name: &str,
    folder: &DevicePath,
    roots: &Roots,
) -> Result<(FoundProgram, OwnedFd), ToolError> {
    let found = programs.find(&Program::from_word(name), folder, roots)?;
    let steps = steps(&found.named).unwrap_or_default();
    // The file that was found is the one at the end of the steps that were checked.
    let is_same = steps.last() == Some(&found.file);
    match handle(&found.file).filter(|_| is_same && !may_change_any(&steps, roots)) {
        Some(file) => Ok((found, file)),
        None => Err(changeable(&found.file)),
    }
}

/// Returns the code of a custom tool: what its definition names as code, and the files that fixed arguments name.
///
/// # Errors
/// `PATH_NOT_ALLOWED` for what calls may change, `PATH_NOT_FOUND` for code that is not there.
pub(super) fn code(
    wanted: &Wanted<'_>,
    places: &Places,
    roots: &Roots,
) -> Result<Vec<Code>, ToolError> {
    let mut all = Vec::new();
    let anchored = Places { workspace: None, ..places.clone() };
    for text in wanted.code {
        let named = orion_catalog::tools::path(&anchored, text)?;
        let steps = steps(Path::new(&named.to_string())).map_err(|_| missing(&named))?;
        let real = steps.last().ok_or_else(|| missing(&named))?;
        let code = opened(real).ok_or_else(|| missing(&named))?;
        let is_denied = roots.denies_reading(&code.real);
        if is_denied || surrounds_changeable(real, roots) || may_change_any(&steps, roots) {
            return Err(changeable(real));
        }
        all.push(code);
    }
    for argument in wanted.fixed {
        for path in paths_in(argument, wanted.folder, &anchored) {
            let Ok(steps) = steps(&path) else { continue };
            let Some(real) = steps.last().filter(|real| real.is_file()) else { continue };
            let is_data = wanted.data.iter().any(|data| path == Path::new(&data.to_string()));
            if is_data {
                continue;
            }
            if may_change_any(&steps, roots) {
                return Err(changeable_argument(argument, real));
            }
            // What is denied is not given, as by any other way.
            all.extend(opened(real).filter(|code| !roots.denies_reading(&code.real)));
        }
    }
    Ok(all)
}

/// Returns the paths that an argument may name: the argument itself, and what in it follows an equals sign or begins
/// with a slash.
fn paths_in(argument: &str, folder: &DevicePath, anchored: &Places) -> Vec<PathBuf> {
    let value = argument.split_once('=').map(|(_, value)| value);
    let rooted = argument.find('/').and_then(|at| argument.get(at..));
    let texts = [Some(argument), value, rooted].into_iter().flatten().filter(|it| !it.is_empty());
    // Some programs read a tilde as a shell does, and others as a name.
    let of_home = |text: &str| {
        let path = text.starts_with("~/").then(|| orion_catalog::tools::path(anchored, text));
        path.and_then(Result::ok).map(|path| PathBuf::from(path.to_string()))
    };
    let folder = PathBuf::from(folder.to_string());
    let mut paths: Vec<PathBuf> =
        texts.flat_map(|text| [Some(folder.join(text)), of_home(text)]).flatten().collect();
    paths.sort();
    paths.dedup();
    paths
}

/// Returns the steps to what is at a path: each link on the way, by the real path of the folder that holds it, and at
/// the end the real path.
fn steps(path: &Path) -> io::Result<Vec<PathBuf>> {
    let mut steps = Vec::new();
    let mut at = PathBuf::from("/");
    let mut left: VecDeque<OsString> = names(path).collect();
    while let Some(name) = left.pop_front() {
        if name == ".." {
            at.pop();
            continue;
        }
        let next = at.join(&name);
        if !fs::symlink_metadata(&next)?.is_symlink() {
            at = next;
            continue;
        }
        let target = fs::read_link(&next)?;
        if steps.len() == MAX_LINKS {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        steps.push(next);
        if target.is_absolute() {
            at = PathBuf::from("/");
        }
        left = names(&target).chain(left).collect();
    }
    steps.push(at);
    Ok(steps)
}

fn names(path: &Path) -> impl Iterator<Item = OsString> {
    path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_owned()),
        Component::ParentDir => Some(OsString::from("..")),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    })
}

fn may_change_any(steps: &[PathBuf], roots: &Roots) -> bool {
    steps.iter().any(|step| roots.may_change(step))
}

/// Returns whether a folder holds one that calls may write, so that they change it as well.
fn surrounds_changeable(folder: &Path, roots: &Roots) -> bool {
    let written = roots.paths(Access::Write);
    written.iter().map(Path::new).any(|root| {
        let real = fs::canonicalize(root);
        root.starts_with(folder) || real.is_ok_and(|real| real.starts_with(folder))
    })
}

/// Opens what is at a real path, to be given to the program. None for what is not there or has no plain name.
fn opened(real: &Path) -> Option<Code> {
    let path = DevicePath::parse(PathStyle::Posix, real.to_str()?).ok()?;
    Some(Code { handle: handle(real)?, real: path })
}

fn changeable(file: &Path) -> ToolError {
    let message = format!(
        "{} is part of a custom tool, and calls may write it or may not read it, so it is not run.",
        file.display()
    );
    refused(message, file).hint(
        Hint::new("keep the programs of custom tools outside the paths of the ceiling")
            .by(Actor::Owner),
    )
}

fn changeable_argument(argument: &str, file: &Path) -> ToolError {
    let message = format!(
        "Nothing was run: the definition of the tool passes on the file {}, which calls may write.",
        file.display()
    );
    refused(message, file).with("argument", argument).hint(
        Hint::new(
            "move the file out of the paths of the ceiling; if the program changes it, list the file itself \
             under write",
        )
        .by(Actor::Owner),
    )
}

fn refused(message: String, file: &Path) -> ToolError {
    ToolError::new(ErrorCode::PathNotAllowed, message)
        .with("rule", "device: custom tools")
        .with("attempted_path", file.display().to_string())
}

fn missing(path: &DevicePath) -> ToolError {
    ToolError::new(
        ErrorCode::PathNotFound,
        format!("{path}, which the tool consists of, is not there."),
    )
    .hint(Hint::new("mend the manifest, or install the program").by(Actor::Owner))
}

#[cfg(test)]
mod tests;
