//! Executes `check_python`.

use orion_catalog::installed::InstalledProgram;
use orion_catalog::tools::check_python::{Arguments, CheckPython};
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome, installed};

impl CommandTool for CheckPython {
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<InstalledProgram>, ToolError> {
        let program = ("Python", &["python3", "python"][..], &["--version"][..]);
        installed::program(program, &arguments.min_version, context)
    }
}
