//! Executes `modify_config`. Replaces the named lines; all other bytes stay.

mod lines;
#[cfg(test)]
mod tests;

use std::io::Write;

use cap_std::fs::OpenOptions;
use orion_catalog::Tool;
use orion_catalog::tools::modify_config::{Arguments, ModifyConfig, Returns};
use orion_domain::{Access, DevicePath, ErrorCode, ToolError};

use super::config_format::{Format, MAX_BYTES, Reading, format_of, read};
use super::{FileContext, FileTool, Outcome, difference, invalid, read_config, write_file};
use crate::call::reserve_memory;
use crate::changes::{Change, Precondition, TrashSpace, lock_paths};
use crate::entry::{FileStamp, Target};
use crate::roots::{Wanted, io_failure};

/// Maximum number of lines that one call changes.
const MAX_CHANGES: usize = 100;

impl FileTool for ModifyConfig {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let Arguments { path, changes, confirm } = arguments;
        if !confirm && !context.dry_run {
            return Err(ToolError::new(
                ErrorCode::ConfirmationRequired,
                "modify_config changes nothing without confirm: true.",
            ));
        }
        if !(1..=MAX_CHANGES).contains(&changes.len()) {
            return Err(invalid(format!(
                "changes has {} entries, and has to have from 1 to {MAX_CHANGES}.",
                changes.len()
            )));
        }
        let path = context.path(&path)?;
        let _lock = lock_paths(context, &[&path])?;
        // An error about the text shows the text, so the call needs both accesses.
        context.roots.locate(&path, Access::Read)?;
        let located = context.roots.locate(&path, Access::Write)?;
        let mut options = OpenOptions::new();
        // Opening for writing checks the permission to write; a preview must not even do that.
        options.read(true).write(!context.dry_run);
        let (mut file, metadata) = read_config::open(&located, &mut options, context)?;
        write_file::refuse_hard_links(&metadata, &path)?;
        context.risk.raise_if_starting_at(&located, &path)?;
        let target = Target::of(&located)?;
        if context.dry_run {
            write_file::refuse_unwritable(&target.dir, &target.name, &path)?;
        }
        let failed = |error: &std::io::Error| io_failure(error, Wanted::File, &path);
        let stamp = FileStamp::of_file(&file).map_err(|error| failed(&error))?;
        reserve_memory(context, read_config::room_bytes(stamp.bytes))?;
        let old =
            String::from_utf8(read_config::bytes(&mut file, &path)?).map_err(|_| no_text(&path))?;
        let new = lines::edit(&old, &changes, &path)?;
        let (format, note) = validate(&path, &old, &new)?;
        let diff = difference::unified(&path, &old, &new, context)?;
        let (what, did) = lines::described(&changes, &path);
        let returns =
            |diff, backup_path| Returns { path: path.to_string(), format, diff, backup_path };
        let keep = TrashSpace::take(context, &path, stamp.disk_bytes)?;
        if context.dry_run {
            let message = format!("Would {what}.{note}");
            return Ok(Outcome::new(message, returns(diff, None)));
        }
        if new == old {
            let message = format!("{path} says all of that already; nothing is changed.");
            return Ok(Outcome::new(message, returns(diff, None)));
        }
        context.check()?;
        let mut change = Change::begin(context, Self::NAME, &[&path], keep);
        let mut staged = change.stage(&target, Some(file))?;
        staged.write_all(new.as_bytes()).map_err(|error| failed(&error))?;
        change.place(&target, staged, Precondition::Unchanged(&stamp))?;
        let backup_path = change.kept_path();
        change.finish();
        let message = format!("{did}.{note}");
        Ok(Outcome::new(message, returns(diff, backup_path)))
    }
}

/// Returns the format, and a note for the person. A file that parsed in its format must still parse; one that
/// did not parse may be repaired line by line.
fn validate(path: &DevicePath, old: &str, new: &str) -> Result<(Format, &'static str), ToolError> {
    if new.len() > MAX_BYTES {
        return Err(ToolError::new(
            ErrorCode::ResourceExhausted,
            format!("{path} would be larger than 1 MiB."),
        )
        .hint("use edit_file for files of that size")
        .with("attempted_path", path.to_string()));
    }
    let format = format_of(path.file_name().unwrap_or_default(), old);
    // Parsed one after the other, because values take much more memory than their text.
    let after = match read(format, new) {
        Reading::Values(_) | Reading::Unknown => return Ok((format, "")),
        after @ (Reading::Broken(_) | Reading::TooMuch(_)) => after,
    };
    let note = match (read(format, old), after) {
        (Reading::Values(_), Reading::Broken(problem) | Reading::TooMuch(problem)) => {
            return Err(ToolError::new(
                ErrorCode::PreconditionFailed,
                format!("{path} could no longer be read as its format after these changes, so nothing is changed. {problem}"),
            )
            .with("attempted_path", path.to_string())
            .with("problem", problem));
        }
        (Reading::Broken(_), _) => " It could not be read as its format before, and cannot after.",
        (Reading::TooMuch(_), _) => " It holds too much to be checked against its format.",
        (Reading::Unknown | Reading::Values(_), _) => "",
    };
    Ok((format, note))
}

fn no_text(path: &DevicePath) -> ToolError {
    ToolError::new(
        ErrorCode::PreconditionFailed,
        format!("{path} is not text in UTF-8, so it is not changed line by line."),
    )
    .with("attempted_path", path.to_string())
}
