//! Executes `restart_service`.

use std::time::Duration;

use orion_catalog::service_state::service;
use orion_catalog::tools::restart_service::{Arguments, RestartService, Returns};
use orion_domain::{ErrorCode, ToolError};

use super::service_managers::{self, NOT_FOUND, is_healthy};
use super::{CommandContext, CommandTool, Outcome};

/// How long a restarted service has until its state is read.
const SETTLE: Duration = Duration::from_secs(1);

impl CommandTool for RestartService {
    fn run(
        arguments: Arguments,
        context: &CommandContext<'_>,
    ) -> Result<Outcome<Returns>, ToolError> {
        let service = service(&arguments.service)?;
        let before = service_managers::state(&service, context)?;
        if before.state == NOT_FOUND {
            let message = format!("There is no service {service} on this device.");
            return Err(ToolError::new(ErrorCode::ExecutionFailed, message));
        }
        if context.dry_run {
            let message = format!("Would restart {service}, which is {}.", before.state);
            return Ok(Outcome::new(message, Returns { before, after: None, healthy: None }));
        }
        context.check()?;
        service_managers::restart(&service, context)?;
        context.wait(SETTLE)?;
        let after = service_managers::state(&service, context)?;
        let healthy = is_healthy(&after);
        let message = format!("Restarted {service}, which is {} now.", after.state);
        Ok(Outcome::new(message, Returns { before, after: Some(after), healthy: Some(healthy) }))
    }
}
