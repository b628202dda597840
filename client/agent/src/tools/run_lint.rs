//! Executes `run_lint`.

use orion_catalog::project::{ProjectArguments, ProjectReturns};
use orion_catalog::tools::run_lint::RunLint;
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome};

impl CommandTool for RunLint {
    #[cfg(target_os = "linux")]
    fn run(
        arguments: ProjectArguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<ProjectReturns>, ToolError> {
        super::project::run(orion_catalog::project::Task::Lint, &arguments, context)
    }

    #[cfg(not(target_os = "linux"))]
    fn run(
        _: ProjectArguments,
        _: &CommandContext<'_>,
    ) -> Result<Outcome<ProjectReturns>, ToolError> {
        Err(super::unconfined())
    }
}
