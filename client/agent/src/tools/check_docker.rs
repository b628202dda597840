//! Executes `check_docker`.

use orion_catalog::installed::InstalledDaemon;
use orion_catalog::tools::check_docker::{Arguments, CheckDocker};
use orion_domain::ToolError;

use super::service_managers::containers;
use super::{CommandContext, CommandTool, Outcome, installed};

impl CommandTool for CheckDocker {
    fn run(
        _: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<InstalledDaemon>, ToolError> {
        let Some((engine, version)) = containers::engine(context)? else {
            return Ok(installed::daemon("Docker", containers::NOT_INSTALLED));
        };
        let containers = containers::count(engine, &[], context)?;
        let running = containers.is_some();
        let data = InstalledDaemon { installed: true, running, version, containers };
        Ok(installed::daemon(engine.title(), data))
    }
}
