//! Undoes a call: all of its changes, or none.

use orion_catalog::tools::undo_call::{ALREADY_UNDONE, Arguments, Outcome, UndoCall, Undone};
use orion_catalog::{ParsedCall, Tool as _};
use orion_domain::{Access, CallId, DevicePath, ErrorCode, Hint, ToolError};
use serde_json::json;

use super::path_lock::lock_paths_to_undo;
use super::undo_steps::{Conflict, Cost, LaterSteps, UndoError, UndoStep};
use super::{Change, TrashSpace};
use crate::call::FileContext;
use crate::record::{Header, Line, Record, RecordedStep, Step, add, reopen};
use crate::trash::Trash;

/// Accesses that an undo needs of a root.
const ANY: [Access; 1] = [Access::Write];

/// What was undone, or would be in a preview.
#[derive(Debug)]
pub(crate) struct UndoneCall {
    /// The tool of the undone call.
    pub(crate) tool: String,
    /// The outcome for each path that the call named.
    pub(crate) paths: Vec<Undone>,
    /// Touched files and folders. `None` if unknown.
    pub(crate) entries: Option<u64>,
    /// Touched bytes in files. `None` if unknown.
    pub(crate) bytes: Option<u64>,
}

/// Returns an undo as the action that it performs, from the record of the call it names. Without a record,
/// returns it unchanged: its action is unknown, and it does nothing.
///
/// # Errors
/// As [`ParsedCall::undoing`].
pub(crate) fn as_it_acts(trash: &Trash, parsed: ParsedCall) -> Result<ParsedCall, ToolError> {
    if parsed.facts.name != UndoCall::NAME {
        return Ok(parsed);
    }
    let arguments = serde_json::from_slice::<Arguments>(parsed.arguments.as_bytes()).ok();
    let call = arguments.and_then(|arguments| arguments.call_id.parse().ok());
    let place = call.and_then(|call| trash.find(call).ok().flatten());
    let Some(header) = place.and_then(|(place, _)| Header::read(&place).ok()) else {
        return Ok(parsed);
    };
    let undo = header.undoing();
    parsed.undoing(undo, &header.touched.into())
}

/// Undoes the changes of a call. `paths` are the paths that the call named; the caller's permissions apply to
/// them.
///
/// # Errors
/// `PATH_NOT_ALLOWED` if a path may no longer be written. `PRECONDITION_FAILED` if no record of the call is
/// kept, or something changed since; `conflicts` in the details lists the changes.
pub(crate) fn undo(
    context: &FileContext<'_>,
    tool: &str,
    call: CallId,
    paths: &[DevicePath],
) -> Result<UndoneCall, ToolError> {
    for path in paths {
        context.roots.locate_entry(path, Access::Write)?;
    }
    let _lock = lock_paths_to_undo(context, call, paths)?;
    let record = record_of(context, call)?;
    if context.undo != Some(&record.header.undoing()) {
        return Err(ToolError::new(
            ErrorCode::PreconditionFailed,
            format!("Call {call} had not ended when this undo call was evaluated."),
        )
        .hint("undo it again"));
    }
    for path in &record.header.paths {
        if !paths.iter().any(|given| given.contains(path) && path.contains(given)) {
            return Err(unnamed(context, path));
        }
    }
    let done: Vec<(usize, &RecordedStep)> =
        record.steps.iter().enumerate().rev().filter(|(_, noted)| noted.done).collect();
    let past = |&(step, noted)| UndoStep { call, step, noted, any: &ANY };
    let mut ahead = LaterSteps::default();
    let mut conflicts = Vec::new();
    let mut cost = Cost::NOTHING;
    for step in done.iter().map(past) {
        match step.check(context, &mut ahead) {
            Ok(more) => cost = cost.and(more),
            Err(UndoError::Conflict(conflict)) => conflicts.push(*conflict),
            Err(UndoError::Failed(error)) => return Err(error),
        }
    }
    if !conflicts.is_empty() {
        return Err(in_the_way(&conflicts));
    }
    let first = record.header.paths.first().or(paths.first()).ok_or_else(|| {
        ToolError::new(ErrorCode::InvalidArgument, "paths is empty.")
            .hint("name every path of the call")
    })?;
    let room = TrashSpace::take_beside(context, first, cost.disk_bytes, record.kept_bytes())?;
    let taken_back = UndoneCall {
        tool: record.header.tool.clone(),
        paths: outcomes(&record),
        entries: cost.entries,
        bytes: cost.bytes,
    };
    if context.dry_run {
        return Ok(taken_back);
    }
    context.check()?;
    let mut change = Change::undoing(context, tool, &record.header, room);
    for step in done.iter().map(past) {
        step.take_back(&mut change).map_err(|stuck| match stuck {
            UndoError::Conflict(conflict) => in_the_way(&[*conflict]),
            UndoError::Failed(error) => error,
        })?;
    }
    let noted = context.trash.find(call).and_then(|found| match found {
        Some((place, _)) => add(&mut reopen(&place)?, &Line::Undone(context.call)),
        None => Ok(()),
    });
    if let Err(error) = noted {
        // A second undo would be refused anyway, because the files that the call made are gone.
        tracing::warn!(%call, kind = %error.kind(), "that a call was taken back could not be noted");
    }
    context.trash.taken_back(call);
    change.finish();
    Ok(taken_back)
}

fn record_of(context: &FileContext<'_>, call: CallId) -> Result<Record, ToolError> {
    let refused = |message: String| {
        ToolError::new(ErrorCode::PreconditionFailed, message).with("call_id", call.to_string())
    };
    let nothing = || {
        refused(format!(
            "Nothing is kept of call {call} on this device. Changes to files are kept for 7 days; reads, failed calls and other devices' calls are not kept."
        ))
    };
    let (place, open) = context.trash.find(call).ok().flatten().ok_or_else(nothing)?;
    if open {
        return Err(refused(format!("Call {call} is not over yet; stop it, or wait for its end.")));
    }
    let record = Record::read(&place).map_err(|_| nothing())?;
    match record.undone {
        Some(by) if by == call => Err(nothing()),
        // The message does not name the undo call: it may be another person's.
        Some(_) => Err(refused(format!("Call {call} was taken back already."))
            .with(ALREADY_UNDONE, true)
            .hint(
                "nothing is left to take back of it; to change the files again, make a new call",
            )),
        None if record.steps.iter().any(|noted| noted.done) => Ok(record),
        None => Err(nothing()),
    }
}

/// Returns the outcome of each path that the call named, in the call's order.
fn outcomes(record: &Record) -> Vec<Undone> {
    let of = |path: &DevicePath| {
        record.steps.iter().rev().filter(|noted| noted.done).find_map(|noted| {
            let outcome = match &noted.step {
                Step::Placed { at, .. } if at.path == *path => {
                    if noted.kept.is_some() {
                        Outcome::Restored
                    } else {
                        Outcome::Removed
                    }
                }
                Step::Moved { to, over, .. } if to.path == *path => {
                    if over.is_some() {
                        Outcome::Restored
                    } else {
                        Outcome::Removed
                    }
                }
                Step::Moved { from: at, .. }
                | Step::Deleted { at, .. }
                | Step::Removed { at }
                | Step::Extended { at, .. }
                | Step::Shortened { at, .. }
                    if at.path == *path =>
                {
                    Outcome::Restored
                }
                Step::Placed { .. }
                | Step::Moved { .. }
                | Step::Deleted { .. }
                | Step::Removed { .. }
                | Step::Extended { .. }
                | Step::Shortened { .. } => return None,
            };
            Some(Undone { path: path.to_string(), outcome })
        })
    };
    record.header.paths.iter().filter_map(of).collect()
}

/// The undo does not name a path of the call, so its permission was not evaluated.
fn unnamed(context: &FileContext<'_>, path: &DevicePath) -> ToolError {
    let which = if context.roots.grants(path, Access::Write) {
        format!("The call changed {path} as well")
    } else {
        "The call changed something else as well".to_owned()
    };
    ToolError::new(ErrorCode::PreconditionFailed, format!("{which}."))
        .hint(Hint::run("name every path of the call, as this command does", "orion undo"))
}

fn in_the_way(conflicts: &[Conflict]) -> ToolError {
    let parts: Vec<String> =
        conflicts.iter().map(|Conflict { path, differs }| format!("{path}: {differs}")).collect();
    let details: Vec<_> = conflicts
        .iter()
        .map(|Conflict { path, differs }| json!({"path": path.to_string(), "differs": differs}))
        .collect();
    ToolError::new(
        ErrorCode::PreconditionFailed,
        format!("Nothing was taken back, because something changed since. {}.", parts.join("; ")),
    )
    .with("conflicts", details)
}
