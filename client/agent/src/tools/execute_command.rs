//! Executes `execute_command`.

#[cfg(target_os = "linux")]
mod run;
#[cfg(all(test, target_os = "linux"))]
mod tests;

use orion_catalog::tools::execute_command::{Arguments, ExecuteCommand, Returns};
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome};

impl CommandTool for ExecuteCommand {
    #[cfg(target_os = "linux")]
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<Returns>, ToolError> {
        run::run(&arguments, context)
    }

    #[cfg(not(target_os = "linux"))]
    fn run(_: Arguments, _: &CommandContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        Err(super::unconfined())
    }
}
