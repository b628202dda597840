//! `restart_service`: restarts one service.

use orion_domain::touches::ServiceTouch;
use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::service_state::{ServiceState, service};
use crate::spec::{Category, Tool};

/// The `restart_service` tool.
#[derive(Debug)]
pub struct RestartService;

/// Which service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The service: a systemd unit such as nginx.service, container:NAME, or compose:PROJECT/SERVICE.
    #[schemars(length(max = 210))]
    pub service: String,
    /// Must be true: a safety catch. A person must approve the call as well.
    #[serde(default)]
    pub confirm: bool,
}

/// The service before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The state before the restart.
    pub before: ServiceState,
    /// The state after the restart; none in a preview.
    pub after: Option<ServiceState>,
    /// Whether the service runs after the restart; none in a preview.
    pub healthy: Option<bool>,
}

impl Tool for RestartService {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "restart_service";
    const CATEGORY: Category = Category::Service;
    const DESCRIPTION: &'static str = "Restarts one granted service of a device: a systemd unit, a \
        container or a compose service. Needs confirm: true, and a person approves it.";
    const RISK: Risk = Risk::High;
    const CAPABILITIES: &'static [Capability] = &[Capability::HomelabControl];
    const HAS_EFFECTS: bool = true;
    // A second run restarts it again.
    const IDEMPOTENT: bool = false;
    const EXAMPLE: &'static str = r#"{"tool":"restart_service","device":"laptop-123","service":"nginx.service","confirm":true}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::service(ServiceTouch::change(service(&arguments.service)?)))
    }

    fn confirmed(arguments: &Arguments) -> bool {
        arguments.confirm
    }
}
