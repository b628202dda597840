//! Executes `execute_command`.

mod run;
#[cfg(test)]
mod tests;

use orion_catalog::tools::execute_command::{Arguments, ExecuteCommand, Returns};
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome};

impl CommandTool for ExecuteCommand {
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<Returns>, ToolError> {
        run::run(&arguments, context)
    }
}
