//! Executes `run_typecheck`.

use orion_catalog::project::{ProjectArguments, ProjectReturns, Task};
use orion_catalog::tools::run_typecheck::RunTypecheck;
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome, project};

impl CommandTool for RunTypecheck {
    fn run(
        arguments: ProjectArguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<ProjectReturns>, ToolError> {
        project::run(Task::Typecheck, &arguments, context)
    }
}
