//! Executes `run_build`.

use orion_catalog::project::{ProjectArguments, ProjectReturns};
use orion_catalog::tools::run_build::RunBuild;
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome};

impl CommandTool for RunBuild {
    #[cfg(target_os = "linux")]
    fn run(
        arguments: ProjectArguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<ProjectReturns>, ToolError> {
        super::project::run(orion_catalog::project::Task::Build, &arguments, context)
    }

    #[cfg(not(target_os = "linux"))]
    fn run(
        _: ProjectArguments,
        _: &CommandContext<'_>,
    ) -> Result<Outcome<ProjectReturns>, ToolError> {
        Err(super::unconfined())
    }
}
