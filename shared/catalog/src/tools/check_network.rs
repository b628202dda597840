//! `check_network`: whether the device reaches its gateway, its resolvers, its backend, and granted hosts.

use orion_domain::hosts::Address;
use orion_domain::{Capability, ErrorCode, Places, Risk, ToolError, Touches, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::spec::{Category, Tool};

/// Maximum number of targets.
pub const MAX_TARGETS: usize = 16;

/// The `check_network` tool.
#[derive(Debug)]
pub struct CheckNetwork;

/// What to reach.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// What to reach: gateway, dns, backend, or a host with its port, such as nas.example:443, that is among
    /// the granted hosts. At most 16.
    #[schemars(length(min = 1, max = 16))]
    pub targets: Vec<String>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { targets: ["gateway", "dns", "backend"].map(str::to_owned).to_vec() }
    }
}

/// The targets.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The targets, in the order of the arguments.
    pub targets: Vec<Reached>,
}

/// One target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Reached {
    /// The target, as it was asked for.
    pub target: String,
    /// Whether it answered.
    pub reachable: bool,
    /// How long the answer took, in milliseconds; none without an answer.
    pub latency_ms: Option<f64>,
    /// What answered, or why nothing did.
    pub detail: String,
}

/// A parsed target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// The gateway of the default route.
    Gateway,
    /// The resolvers of the operating system.
    Dns,
    /// The backend of the agent.
    Backend,
    /// A host.
    Host(Address),
}

impl Arguments {
    /// Returns the parsed targets.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for too many targets, and for a text that is none.
    pub fn parsed(&self) -> Result<Vec<Target>, ToolError> {
        let invalid = |message: String| ToolError::new(ErrorCode::InvalidArgument, message);
        if !(1..=MAX_TARGETS).contains(&self.targets.len()) {
            return Err(invalid(format!("check_network takes from 1 to {MAX_TARGETS} targets.")));
        }
        let target = |text: &String| match text.as_str() {
            "gateway" => Ok(Target::Gateway),
            "dns" => Ok(Target::Dns),
            "backend" => Ok(Target::Backend),
            other => Address::parse(other).map(Target::Host).ok_or_else(|| {
                let shown = visible(&other.chars().take(64).collect::<String>());
                let message =
                    format!("`{shown}` is neither a known target nor a host with a port.");
                invalid(message).hint("write gateway, dns, backend, or nas.example:443")
            }),
        };
        self.targets.iter().map(target).collect()
    }
}

impl Tool for CheckNetwork {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "check_network";
    const CATEGORY: Category = Category::Health;
    const DESCRIPTION: &'static str = "Tells whether a device reaches its gateway, its DNS servers, its \
        backend and granted hosts, and how fast. For ports of the device itself, use check_ports.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::DeviceInfo];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"check_network","device":"laptop-123","targets":["gateway","backend"]}"#;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        let mut hosts = Vec::new();
        for target in arguments.parsed()? {
            match target {
                Target::Host(address) if !address.is_loopback() => hosts.push(address),
                Target::Gateway | Target::Dns | Target::Backend | Target::Host(_) => {}
            }
        }
        Ok(Touches { hosts, ..Touches::nothing() })
    }
}

#[cfg(test)]
mod tests {
    use orion_domain::PathStyle;

    use super::*;

    #[test]
    fn only_hosts_that_are_not_the_tools_own_are_touched() {
        let places = Places::bare(PathStyle::Posix);
        let touched = |targets: &[&str]| {
            let targets = targets.iter().map(|it| (*it).to_owned()).collect();
            let touches = CheckNetwork::touches(&Arguments { targets }, &places);
            touches.map(|it| it.hosts.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        assert_eq!(touched(&["gateway", "dns", "backend", "localhost:80"]), Ok(Vec::new()));
        assert_eq!(touched(&["dns", "NAS.example:443"]).unwrap(), ["nas.example:443"]);
        for wrong in [&[][..], &["Gateway"], &["nas.example"], &["http://nas.example:80"], &[""]] {
            let code = touched(wrong).map_err(|error| error.code);
            assert_eq!(code, Err(ErrorCode::InvalidArgument), "{wrong:?}");
        }
        assert!(touched(&["dns"; MAX_TARGETS + 1]).is_err());
    }
}
