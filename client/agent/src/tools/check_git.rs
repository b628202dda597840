//! Executes `check_git`.

use orion_catalog::installed::InstalledProgram;
use orion_catalog::tools::check_git::{Arguments, CheckGit};
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome, installed};

impl CommandTool for CheckGit {
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<InstalledProgram>, ToolError> {
        let program = ("Git", &["git"][..], &["--version"][..]);
        installed::program(program, &arguments.min_version, context)
    }
}
