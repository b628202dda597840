//! `list_services`: the services that a device's grants name, with their states.

use orion_domain::{Capability, Places, Risk, ToolError, Touches};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::service_state::ServiceState;
use crate::spec::{Category, Tool};

/// The `list_services` tool.
#[derive(Debug)]
pub struct ListServices;

/// Nothing: the grants name the services.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {}

/// The services.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The services that both the grants and the ceiling name, in order.
    pub services: Vec<ServiceState>,
    /// How many there are.
    pub count: u64,
}

impl Tool for ListServices {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "list_services";
    const CATEGORY: Category = Category::Service;
    const DESCRIPTION: &'static str = "Lists the services of a device that are granted, with their states: \
        systemd units, containers and compose services. For one of them, use check_service.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::ServiceRead];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str = r#"{"tool":"list_services","device":"laptop-123"}"#;
    const EXECUTION: Execution = Execution::ChildProcess;

    // The device lists what its own grants and ceiling name, and nothing else.
    fn touches(_: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        Ok(Touches::nothing())
    }
}
