//! Executes `undo_call`.

use orion_catalog::Tool;
use orion_catalog::tools::undo_call::{Arguments, Outcome as Became, Returns, UndoCall};
use orion_domain::{CallId, DevicePath, ToolError};

use super::{FileContext, FileTool, Outcome, invalid};
use crate::changes::{UndoneCall, undo};

impl FileTool for UndoCall {
    fn run(arguments: Arguments, context: &FileContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let call: CallId =
            arguments.call_id.parse().map_err(|error| invalid(format!("call_id: {error}.")))?;
        let paths: Vec<DevicePath> =
            arguments.paths.iter().map(|text| context.path(text)).collect::<Result<_, _>>()?;
        let UndoneCall { tool, paths, entries, bytes } = undo(context, Self::NAME, call, &paths)?;
        let outcomes: Vec<String> = paths
            .iter()
            .map(|undone| match undone.outcome {
                Became::Restored => format!("{} as it was before", undone.path),
                Became::Removed => format!("{} moved to the trash or removed", undone.path),
            })
            .collect();
        let what = if context.dry_run { "Would undo" } else { "Undid" };
        let message = format!("{what} {tool}: {}.", outcomes.join("; "));
        Ok(Outcome::new(
            message,
            Returns { call_id: call.to_string(), tool, paths, entries, bytes },
        ))
    }
}

#[cfg(test)]
mod tests;
