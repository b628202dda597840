//! Observes the programs that a call starts: the file that each name leads to, by its digest.

use orion_domain::touches::CommandTouch;
use orion_domain::{Observation, ToolError, Touches};

use super::drifted;
use crate::call::{Context, ExpectedState};
use crate::programs::Programs;

/// Observes each program of a call, in the call's order.
///
/// # Errors
/// A program that is not there or cannot be read, `TIMEOUT` and `CANCELLED`.
pub(crate) fn observe_programs(
    touches: &Touches,
    programs: &Programs,
    context: &Context<'_>,
) -> Result<Vec<Observation>, ToolError> {
    let each = of_each(touches).map(|command| {
        context.check()?;
        programs.observe(&command.program, &command.folder, context.roots)
    });
    each.collect()
}

/// Refuses a call if a program differs from the preview. Does nothing for a call without a preview.
///
/// # Errors
/// `PRECONDITION_FAILED` with the program and the change, and as [`observe_programs`].
pub(crate) fn compare_programs(
    expected: Option<ExpectedState<'_>>,
    programs: &Programs,
    context: &Context<'_>,
) -> Result<(), ToolError> {
    let Some(ExpectedState { touches, before }) = expected else { return Ok(()) };
    for command in of_each(touches) {
        let Some(before) = before.iter().find(|seen| seen.path == command.program) else {
            return Err(drifted(&command.program, "nobody was shown which program it is"));
        };
        context.check()?;
        let now = programs.observe(&command.program, &command.folder, context.roots)?;
        if let Some(change) = before.drift(&now) {
            return Err(drifted(&before.path, &change));
        }
    }
    Ok(())
}

/// Returns each program once.
fn of_each(touches: &Touches) -> impl Iterator<Item = &CommandTouch> {
    let all = &touches.commands;
    all.iter().enumerate().filter_map(|(at, command)| {
        let is_first = all.iter().take(at).all(|earlier| earlier.program != command.program);
        is_first.then_some(command)
    })
}
