//! `check_service`: the state of one service.

use orion_domain::touches::ServiceTouch;
use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::service_state::{ServiceState, service};
use crate::spec::{Category, Tool};

/// The `check_service` tool.
#[derive(Debug)]
pub struct CheckService;

/// Which service.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    /// The service: a systemd unit such as nginx.service, container:NAME, or compose:PROJECT/SERVICE.
    #[schemars(length(max = 210))]
    pub service: String,
}

impl Tool for CheckService {
    type Arguments = Arguments;
    type Returns = ServiceState;

    const NAME: &'static str = "check_service";
    const CATEGORY: Category = Category::Service;
    const DESCRIPTION: &'static str = "Returns the state of one granted service of a device: a systemd \
        unit, a container or a compose service. For all granted services, use list_services.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::ServiceRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"check_service","device":"laptop-123","service":"nginx.service"}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::service(ServiceTouch::read(service(&arguments.service)?)))
    }
}
