//! `create_directory`.

use std::io::ErrorKind;

use cap_fs_ext::DirExt;
use cap_std::fs::Dir;
use orion_catalog::tools::create_directory::{Arguments, CreateDirectory, Returns};
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

use super::{Context, Execute, Outcome, nearby};
use crate::roots::{Located, Wanted, io_failure};

impl Execute for CreateDirectory {
    fn run(arguments: Arguments, context: &Context<'_>) -> Result<Outcome<Returns>, ToolError> {
        let located = context.locate(&arguments.path, Access::Write)?;
        let path = &located.asked;
        let done = |message: String, created| {
            Ok(Outcome::new(message, Returns { created_path: path.to_string(), created }))
        };
        if located.is_folder() {
            return done(format!("The folder {path} is there already."), false);
        }
        if located.found.is_some() {
            return Err(match located.name() {
                Some(_) => ToolError::new(
                    ErrorCode::AlreadyExists,
                    format!("{path} is there already and is not a folder; choose another name."),
                )
                .with("attempted_path", path.to_string()),
                None => located.no_folder(),
            });
        }
        let Some((last, above)) = located.rest.split_last() else {
            return done(format!("The folder {path} is there already."), false);
        };
        if !above.is_empty() && !arguments.parents {
            return Err(missing_parent(&located, context));
        }
        if context.dry_run {
            return done(format!("Would make the folder {path}."), true);
        }
        context.check()?;
        let parent = make_all(&located.dir, above, path)?;
        let dir = parent.as_ref().unwrap_or(&located.dir);
        match dir.create_dir(last) {
            Ok(()) => done(format!("Made the folder {path}."), true),
            Err(error) if error.kind() == ErrorKind::AlreadyExists && is_folder(dir, last) => {
                done(format!("The folder {path} is there already."), false)
            }
            Err(error) => Err(io_failure(&error, Wanted::Directory, path)),
        }
    }
}

/// Makes folders below one another; the last of them, if any were asked for.
pub(super) fn make_all(
    start: &Dir,
    names: &[String],
    path: &DevicePath,
) -> Result<Option<Dir>, ToolError> {
    let mut made: Option<Dir> = None;
    for name in names {
        let here = made.as_ref().unwrap_or(start);
        // Somebody else may make the same folder at the same time; then theirs will do.
        let next = match here.create_dir(name) {
            Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
            Ok(()) | Err(_) => here.open_dir_nofollow(name),
        };
        made = Some(next.map_err(|error| io_failure(&error, Wanted::Directory, path))?);
    }
    Ok(made)
}

/// The folder above is not there.
pub(super) fn missing_parent(located: &Located, context: &Context<'_>) -> ToolError {
    let missing = located.rest.first().and_then(|name| located.real.join(name).ok());
    let missing = missing.unwrap_or_else(|| located.asked.clone());
    let error = ToolError::new(
        ErrorCode::DirectoryNotFound,
        format!("There is no folder {missing} to make {} in.", located.asked),
    )
    .with("attempted_path", located.asked.to_string())
    .with("missing_path", missing.to_string());
    nearby::suggest(error, located, context)
}

fn is_folder(dir: &Dir, name: &str) -> bool {
    dir.symlink_metadata(name).is_ok_and(|metadata| metadata.is_dir())
}

#[cfg(test)]
mod tests;
