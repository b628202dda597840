//! Executes `list_services`.

use orion_catalog::service_state::ServiceState;
use orion_catalog::tools::list_services::{Arguments, ListServices, Returns};
use orion_domain::services::Service;
use orion_domain::{ErrorCode, ToolError};

use super::{CommandContext, CommandTool, Outcome, service_managers};

/// The most services of one list.
const MAX_SERVICES: usize = 100;

impl CommandTool for ListServices {
    fn run(_: Arguments, context: &CommandContext<'_>) -> Result<Outcome<Returns>, ToolError> {
        let granted = context.roots.services();
        let each = granted.iter().take(MAX_SERVICES).map(|service| {
            match service_managers::state(service, context) {
                Err(error) if !stops(error.code) => Ok(unknown(service)),
                state => state,
            }
        });
        let services: Vec<_> = each.collect::<Result<_, _>>()?;
        let count = services.len() as u64;
        let message = match count {
            0 => "No service is granted.".to_owned(),
            1 => "1 service is granted.".to_owned(),
            count => format!("{count} services are granted."),
        };
        let is_cut = granted.len() > MAX_SERVICES;
        Ok(Outcome::new(message, Returns { services, count }).cut(is_cut))
    }
}

/// Returns whether an error ends the call. Others say that a manager does not answer.
fn stops(code: ErrorCode) -> bool {
    code == ErrorCode::Cancelled || code == ErrorCode::Timeout
}

fn unknown(service: &Service) -> ServiceState {
    ServiceState {
        service: service.to_string(),
        state: "unknown".to_owned(),
        since: None,
        pid: None,
        restarts: None,
        enabled: None,
    }
}
