//! What an undo does, from the stored row of the call that it names.

use orion_catalog::tools::undo_call::{Arguments, UndoCall};
use orion_catalog::{ParsedCall, Tool as _, find};
use orion_domain::{CallId, CallRequest, Caller, ErrorCode, Hint, Role, ToolError, Touches, Undo};
use serde_json::Value;

use super::Pipeline;
use super::validate::Target;
use crate::store::{CallRow, StoreError};

/// Names the device of an undo by its id where the call that is undone names it as the request does: the device may have
/// another name since, and another device may have this one.
///
/// # Errors
/// The database cannot be read.
pub(super) async fn follow_rename(
    pipeline: &Pipeline,
    caller: &Caller,
    request: &mut CallRequest,
) -> Result<(), StoreError> {
    if request.tool != UndoCall::NAME {
        return Ok(());
    }
    let named = request.arguments.get("call_id").and_then(Value::as_str);
    let Some(Ok(named)) = named.map(str::parse::<CallId>) else { return Ok(()) };
    let Some(row) = row(pipeline, named).await? else { return Ok(()) };
    if let Some((device, name)) = &row.device
        && is_theirs(&row, caller)
        && request.device.as_deref() == Some(name.as_str())
        && !pipeline.fleet.find(name.as_str()).is_ok_and(|now| now.id == *device)
    {
        request.device = Some(device.to_string());
    }
    Ok(())
}

/// Returns whether a person may undo a call: an admin every one, others their own.
fn is_theirs(row: &CallRow, caller: &Caller) -> bool {
    row.caller.user == caller.user || caller.role == Role::Admin
}

/// Resolves an undo to what it does for this person on this device; returns any other call unchanged.
///
/// # Errors
/// The database cannot be read. The inner error is for the caller if the undo is not possible; it is the
/// same for another person's call and for a call that does not exist.
pub(super) async fn as_it_acts(
    pipeline: &Pipeline,
    caller: &Caller,
    target: &Target,
    parsed: ParsedCall,
) -> Result<Result<ParsedCall, ToolError>, StoreError> {
    if target.spec.name != UndoCall::NAME {
        return Ok(Ok(parsed));
    }
    let arguments = serde_json::from_slice::<Arguments>(parsed.arguments.as_bytes());
    let named = arguments.map(|arguments| arguments.call_id.parse::<CallId>());
    let Ok(Ok(named)) = named else {
        return Ok(Err(ToolError::new(
            ErrorCode::InvalidArgument,
            "call_id is not the whole id of a call.",
        )
        .hint(Hint::run("list your calls with their whole ids", "orion calls list -o wide"))));
    };
    let Some(row) = row(pipeline, named).await? else { return Ok(Err(unknown(target))) };
    let is_here = row.device.as_ref().is_some_and(|(device, _)| *device == target.device.id);
    if !is_theirs(&row, caller) || !is_here {
        return Ok(Err(unknown(target)));
    }
    let undo = match &row.undo {
        Some(earlier) => Undo::of_undo(named, earlier),
        // That undo was rejected before it was known what it would do.
        None if row.tool == UndoCall::NAME => return Ok(Err(unknown(target))),
        None => Undo::of_call(named, row.tool.clone()),
    };
    let touched = if undo.redo {
        let first = row_of_first(pipeline, &undo, row).await?;
        match first.and_then(|first| touches(target, &first)) {
            Some(touched) => touched,
            None => return Ok(Err(unknown(target))),
        }
    } else {
        Touches::nothing()
    };
    Ok(parsed.undoing(undo, &touched))
}

async fn row(pipeline: &Pipeline, call: CallId) -> Result<Option<CallRow>, StoreError> {
    match pipeline.store.call(call).await {
        Ok(row) => Ok(Some(row)),
        Err(StoreError::NotFound) => Ok(None),
        Err(error) => Err(error),
    }
}

async fn row_of_first(
    pipeline: &Pipeline,
    undo: &Undo,
    named: CallRow,
) -> Result<Option<CallRow>, StoreError> {
    if named.id == undo.first { Ok(Some(named)) } else { row(pipeline, undo.first).await }
}

/// Returns what a stored call touched, by the current places of its device.
fn touches(target: &Target, row: &CallRow) -> Option<Touches> {
    let (spec, _) = find(&row.tool)?;
    let arguments = serde_json::from_slice(&row.arguments).ok()?;
    Some(spec.parse(arguments, target.device.places()?).ok()?.touches)
}

/// Returns the error for another person's call and for a call that does not exist.
fn unknown(target: &Target) -> ToolError {
    ToolError::new(
        ErrorCode::PreconditionFailed,
        format!("You made no call with this id on {} that can be undone.", target.device.name),
    )
    .hint(Hint::run("list your calls", "orion calls list"))
}
