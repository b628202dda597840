//! Executes `run_build`.

use orion_catalog::project::{ProjectArguments, ProjectReturns, Task};
use orion_catalog::tools::run_build::RunBuild;
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome, project};

impl CommandTool for RunBuild {
    fn run(
        arguments: ProjectArguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<ProjectReturns>, ToolError> {
        project::run(Task::Build, &arguments, context)
    }
}
