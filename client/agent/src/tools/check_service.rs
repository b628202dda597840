//! Executes `check_service`.

use orion_catalog::service_state::{ServiceState, service};
use orion_catalog::tools::check_service::{Arguments, CheckService};
use orion_domain::ToolError;

use super::{CommandContext, CommandTool, Outcome, service_managers};

impl CommandTool for CheckService {
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<ServiceState>, ToolError> {
        let state = service_managers::state(&service(&arguments.service)?, context)?;
        let message = format!("{} is {}.", state.service, state.state);
        Ok(Outcome::new(message, state))
    }
}
