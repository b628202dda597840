//! Executes `create_directory`.

use orion_catalog::Tool;
use orion_catalog::tools::create_directory::{Arguments, CreateDirectory, Returns};
use orion_domain::{Access, ErrorCode, ToolError};

use super::{FileContext, FileTool, Outcome, nearby};
use crate::changes::{Change, StepError, TrashSpace, lock_paths};
use crate::roots::{FileKind, Located};

/// Maximum number of folders that one call creates.
const MAX_MADE: usize = 256;

impl FileTool for CreateDirectory {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let path = &context.path(&arguments.path)?;
        let _lock = lock_paths(context, &[path])?;
        let located = context.roots.locate(path, Access::Write)?;
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
                    format!("{path} is there already and is not a folder."),
                )
                .hint("choose another name")
                .with("attempted_path", path.to_string()),
                None => located.no_folder(),
            });
        }
        if located.rest.len() > 1 && !arguments.parents {
            return Err(missing_parent(&located, context)
                .hint("set `parents` to true to make the folders above it as well"));
        }
        refuse_depth(&located)?;
        let room = TrashSpace::take(context, path, 0)?;
        if context.dry_run {
            return done(format!("Would make the folder {path}."), true);
        }
        context.check()?;
        let mut change = Change::begin(context, Self::NAME, &[path], room);
        let target = change.parents(&located)?;
        match change.make_folder(&target) {
            Ok(()) => {
                change.finish();
                done(format!("Made the folder {path}."), true)
            }
            Err(StepError::Taken(_))
                if target.stamp()?.is_some_and(|stamp| stamp.what == FileKind::Folder) =>
            {
                change.finish();
                done(format!("The folder {path} is there already."), false)
            }
            Err(refused) => Err(refused.into()),
        }
    }
}

/// Refuses more folders at once than the call's record can hold.
pub(super) fn refuse_depth(located: &Located) -> Result<(), ToolError> {
    if located.rest.len() <= MAX_MADE {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorCode::ResourceExhausted,
        format!("More than {MAX_MADE} folders of {} are missing.", located.asked),
    )
    .hint("create some of them first")
    .with("attempted_path", located.asked.to_string()))
}

/// Returns the error for a missing parent folder.
pub(super) fn missing_parent(located: &Located, context: &FileContext<'_>) -> ToolError {
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

#[cfg(test)]
mod tests;
