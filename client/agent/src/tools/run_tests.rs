//! Executes `run_tests`.

use orion_catalog::project::{ProjectArguments, ProjectReturns, Task};
use orion_catalog::tools::run_tests::RunTests;
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome, project};

impl CommandTool for RunTests {
    fn run(
        arguments: ProjectArguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<ProjectReturns>, ToolError> {
        project::run(Task::Test, &arguments, context)
    }
}
