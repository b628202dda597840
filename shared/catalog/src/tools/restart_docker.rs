//! `restart_docker`: restarts Docker's daemon, and with it what runs in it.

use orion_domain::services::Service;
use orion_domain::touches::ServiceTouch;
use orion_domain::{Capability, ErrorCode, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::service_state::ServiceState;
use crate::spec::{Category, Tool};

/// The unit of Docker's daemon.
const UNIT: &str = "docker.service";

/// The `restart_docker` tool.
#[derive(Debug)]
pub struct RestartDocker;

/// Nothing but a safety catch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// Must be true: a safety catch. A person must approve the call as well.
    #[serde(default)]
    pub confirm: bool,
}

/// The daemon before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The state before the restart.
    pub before: ServiceState,
    /// The state after the restart; none in a preview.
    pub after: Option<ServiceState>,
    /// How many containers run: after the restart, and in a preview before it; none where Docker does not
    /// answer.
    pub containers: Option<u64>,
}

/// Returns the service that is restarted.
///
/// # Errors
/// Never, as long as the name of the unit is plain.
pub fn daemon() -> Result<Service, ToolError> {
    let message = "The unit of Docker has no plain name.";
    Service::unit(UNIT).ok_or_else(|| ToolError::new(ErrorCode::Internal, message))
}

impl Tool for RestartDocker {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "restart_docker";
    const CATEGORY: Category = Category::Service;
    const DESCRIPTION: &'static str = "Restarts Docker's daemon on a device, and with it every container \
        there. For one container, use restart_service. Needs confirm: true, and an admin approves it.";
    const RISK: Risk = Risk::Critical;
    const CAPABILITIES: &'static [Capability] = &[Capability::HomelabControl];
    const HAS_EFFECTS: bool = true;
    // A second run restarts it again.
    const IDEMPOTENT: bool = false;
    const EXAMPLE: &'static str =
        r#"{"tool":"restart_docker","device":"laptop-123","confirm":true}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::service(ServiceTouch::change(daemon()?)))
    }

    fn confirmed(arguments: &Arguments) -> bool {
        arguments.confirm
    }

    fn reasons(_: &Arguments) -> Vec<String> {
        vec!["Every container of the device stops with it.".to_owned()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_daemon_is_the_unit_that_grants_name() {
        assert_eq!(daemon().unwrap().to_string(), UNIT);
    }
}
