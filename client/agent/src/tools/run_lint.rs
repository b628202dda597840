//! Executes `run_lint`.

use orion_catalog::project::{ProjectArguments, ProjectReturns, Task};
use orion_catalog::tools::run_lint::RunLint;
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome, project};

impl CommandTool for RunLint {
    fn run(
        arguments: ProjectArguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<ProjectReturns>, ToolError> {
        project::run(Task::Lint, &arguments, context)
    }
}
