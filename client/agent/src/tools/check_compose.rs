//! Executes `check_compose`.

use orion_catalog::installed::InstalledDaemon;
use orion_catalog::tools::check_compose::{Arguments, CheckCompose};
use orion_domain::ToolError;

use super::service_managers::containers;
use super::{CommandContext, CommandTool, Outcome, installed};

impl CommandTool for CheckCompose {
    fn run(
        _: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<InstalledDaemon>, ToolError> {
        let version = containers::compose_version(context)?;
        let (Some(version), Some((engine, _))) = (version, containers::engine(context)?) else {
            return Ok(installed::daemon("Docker Compose", containers::NOT_INSTALLED));
        };
        let of_compose = ["--filter", "label=com.docker.compose.project"];
        let containers = containers::count(engine, &of_compose, context)?;
        let running = containers.is_some();
        let data = InstalledDaemon { installed: true, running, version: Some(version), containers };
        Ok(installed::daemon("Docker Compose", data))
    }
}
