//! `list_macros`: the macros of the person who asks, and of nobody else.

use orion_catalog::tools::list_macros::{Arguments, ListMacros, Macro, Returns};
use orion_domain::ToolError;

use super::effect::failed;
use super::{Context, LocalTool, Outcome};
use crate::store::MacroRow;

impl LocalTool for ListMacros {
    async fn run(arguments: Arguments, context: Context) -> Result<Outcome<Returns>, ToolError> {
        let found = context.devices.store.macros(&context.caller.user).await.map_err(failed)?;
        let wanted = |row: &MacroRow| arguments.name.as_ref().is_none_or(|name| *name == row.name);
        let macros: Vec<_> = found.into_iter().filter(wanted).map(shown).collect();
        let count = macros.len();
        let message = match count {
            1 => "1 macro.".to_owned(),
            count => format!("{count} macros."),
        };
        Ok(Outcome { message, data: Returns { macros, count }, truncated: false })
    }
}

fn shown(row: MacroRow) -> Macro {
    let MacroRow { user: _, name, steps, parameters, tainted: untrusted, saved_at: _ } = row;
    Macro { name, steps, parameters, untrusted }
}
