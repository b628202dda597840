//! What the program of a custom tool gets: what the tool declares, as open handles, and the files that it
//! consists of.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use orion_commands::Program;
use orion_domain::{Access, Actor, DevicePath, ErrorCode, Hint, PathStyle, Places, ToolError};

use crate::programs::{FoundProgram, Programs, handle};
use crate::roots::Roots;
use crate::sandbox::Rights;

/// Finds the program of a custom tool, which no call may be able to change: the definition was approved with it.
///
/// # Errors
/// `NOT_SUPPORTED` where there is no such program, `PATH_NOT_ALLOWED` for one that calls may write.
pub(super) fn program(
    programs: &Programs,
    name: &str,
    folder: &DevicePath,
    roots: &Roots,
) -> Result<FoundProgram, ToolError> {
    let found = programs.find(&Program::from_word(name), folder, roots)?;
    if roots.may_change(&found.named) || roots.may_change(&found.file) {
        return Err(changeable(&found.file));
    }
    Ok(found)
}

/// Returns handles of the files and folders that a program consists of, and of its own file. No call may be able
/// to change them.
///
/// # Errors
/// `PATH_NOT_ALLOWED` for one that calls may write, `PATH_NOT_FOUND` for one that is not there.
pub(super) fn code(
    program: &FoundProgram,
    code: &[String],
    places: &Places,
    roots: &Roots,
) -> Result<Vec<(OwnedFd, Rights)>, ToolError> {
    let mut granted: Vec<(OwnedFd, Rights)> =
        handle(&program.file).map(|file| (file, Rights::Execute)).into_iter().collect();
    for text in code {
        let anchored = Places { workspace: None, ..places.clone() };
        let named = orion_catalog::tools::path(&anchored, text)?;
        let path = PathBuf::from(named.to_string());
        let real = std::fs::canonicalize(&path).map_err(|_| missing(&named))?;
        let inside = DevicePath::parse(PathStyle::Posix, real.to_str().unwrap_or_default());
        // A folder around one that calls may write is changed as well.
        let is_around =
            roots.paths(Access::Write).iter().any(|root| Path::new(root).starts_with(&real));
        let is_denied = inside.is_ok_and(|inside| roots.denies_reading(&inside));
        if is_around || is_denied || roots.may_change(&path) || roots.may_change(&real) {
            return Err(changeable(&real));
        }
        granted.extend(handle(&real).map(|open| (open, Rights::Execute)));
    }
    Ok(granted)
}

fn changeable(file: &Path) -> ToolError {
    let message = format!(
        "{} is part of a custom tool, and calls may write it or may not read it, so it is not run.",
        file.display()
    );
    ToolError::new(ErrorCode::PathNotAllowed, message).with("rule", "device: custom tools").hint(
        Hint::new("keep the programs of custom tools outside the paths of the ceiling")
            .by(Actor::Owner),
    )
}

fn missing(path: &DevicePath) -> ToolError {
    ToolError::new(
        ErrorCode::PathNotFound,
        format!("{path}, which the tool consists of, is not there."),
    )
    .hint(Hint::new("mend the manifest, or install the program").by(Actor::Owner))
}
