//! Runs a tool of each kind: its arguments to its own type, and its result to JSON.

use orion_catalog::Tool;
use orion_domain::ToolError;
use serde_json::Value;

#[cfg(target_os = "linux")]
use super::CommandTool;
use super::{AppTool, AskingContext, AskingTool, FileTool, PlainTool, invalid};
use crate::call::{AppContext, Context, FileContext, Outcome};
#[cfg(target_os = "linux")]
use crate::programs::CommandContext;

pub(super) fn run_file<T: FileTool>(
    arguments: Value,
    context: &FileContext<'_>,
) -> Result<Outcome, ToolError> {
    let arguments = parsed::<T>(arguments)?;
    context.check()?;
    T::run(arguments, context)?.encoded(T::NAME)
}

pub(super) fn run_plain<T: PlainTool>(
    arguments: Value,
    context: &Context<'_>,
) -> Result<Outcome, ToolError> {
    let arguments = parsed::<T>(arguments)?;
    context.check()?;
    T::run(arguments, context)?.encoded(T::NAME)
}

pub(super) fn run_asking<T: AskingTool>(
    arguments: Value,
    context: &AskingContext<'_>,
) -> Result<Outcome, ToolError> {
    let arguments = parsed::<T>(arguments)?;
    context.common.check()?;
    T::run(arguments, context)?.encoded(T::NAME)
}

pub(super) fn run_app<T: AppTool>(
    arguments: Value,
    context: &AppContext<'_>,
) -> Result<Outcome, ToolError> {
    let arguments = parsed::<T>(arguments)?;
    context.check()?;
    T::run(arguments, context)?.encoded(T::NAME)
}

#[cfg(target_os = "linux")]
pub(super) fn run_command<T: CommandTool>(
    arguments: Value,
    context: &CommandContext<'_>,
) -> Result<Outcome, ToolError> {
    let arguments = parsed::<T>(arguments)?;
    context.check()?;
    T::run(arguments, context)?.encoded(T::NAME)
}

fn parsed<T: Tool>(arguments: Value) -> Result<T::Arguments, ToolError> {
    serde_json::from_value(arguments)
        .map_err(|error| invalid(format!("The arguments of {} do not fit: {error}.", T::NAME)))
}
