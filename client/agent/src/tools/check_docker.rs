//! Executes `check_docker`.

use orion_catalog::installed::InstalledDaemon;
use orion_catalog::tools::check_docker::{Arguments, CheckDocker};
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome, installed};

impl CommandTool for CheckDocker {
    fn run(
        _: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<InstalledDaemon>, ToolError> {
        installed::docker(context)
    }
}
