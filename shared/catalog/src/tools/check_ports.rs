//! `check_ports`: whether something listens on ports, and on the device itself which process.

use orion_domain::hosts::Address;
use orion_domain::{Capability, ErrorCode, Places, Risk, ToolError, Touches, visible};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::execution::Execution;
use crate::spec::{Category, Tool};

/// Maximum number of checked ports.
pub const MAX_PORTS: usize = 32;

/// The `check_ports` tool.
#[derive(Debug)]
pub struct CheckPorts;

/// Which ports.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Arguments {
    /// The TCP ports. At most 32.
    #[schemars(length(min = 1, max = 32))]
    pub ports: Vec<u16>,
    /// The host: the device itself, or one whose ports are among the granted hosts.
    pub host: String,
}

impl Default for Arguments {
    fn default() -> Self {
        Self { ports: vec![4443, 8443, 8998], host: "localhost".to_owned() }
    }
}

/// The ports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Returns {
    /// The ports, in the order of the arguments.
    pub ports: Vec<Port>,
}

/// One port.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Port {
    /// Its number.
    pub port: u16,
    /// Whether something accepts connections there.
    pub listening: bool,
    /// The name of the process that listens; none if the agent cannot see it, and for other hosts.
    pub process: Option<String>,
}

impl Arguments {
    /// Returns the addresses to check.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` for too many ports, and for a host or port that is none.
    pub fn addresses(&self) -> Result<Vec<Address>, ToolError> {
        let invalid = |message: String| Err(ToolError::new(ErrorCode::InvalidArgument, message));
        if !(1..=MAX_PORTS).contains(&self.ports.len()) {
            return invalid(format!("check_ports takes from 1 to {MAX_PORTS} ports."));
        }
        let address = |port: &u16| Address::new(&self.host, *port);
        if let Some(addresses) = self.ports.iter().map(address).collect() {
            return Ok(addresses);
        }
        if self.ports.contains(&0) {
            return invalid("0 is no port.".to_owned());
        }
        let shown = visible(&self.host.chars().take(64).collect::<String>());
        invalid(format!("`{shown}` is neither the name of a host nor an IP address."))
    }
}

impl Tool for CheckPorts {
    type Arguments = Arguments;
    type Returns = Returns;

    const NAME: &'static str = "check_ports";
    const CATEGORY: Category = Category::Health;
    const DESCRIPTION: &'static str = "Tells whether something listens on TCP ports, and which process \
        does on the device itself. Another host has to be among the granted hosts with each port.";
    const RISK: Risk = Risk::Low;
    const CAPABILITIES: &'static [Capability] = &[Capability::DeviceInfo];
    const HAS_EFFECTS: bool = false;
    const IDEMPOTENT: bool = true;
    const UNTRUSTED: bool = true;
    const EXAMPLE: &'static str =
        r#"{"tool":"check_ports","device":"laptop-123","ports":[5432,8080]}"#;
    const EXECUTION: Execution = Execution::Plain;

    fn touches(arguments: &Arguments, _: &Places) -> Result<Touches, ToolError> {
        let mut hosts = arguments.addresses()?;
        hosts.retain(|address| !address.is_loopback());
        Ok(Touches { hosts, ..Touches::nothing() })
    }
}

#[cfg(test)]
mod tests {
    use orion_domain::PathStyle;

    use super::*;

    #[test]
    fn another_host_is_touched_with_each_port_and_the_device_itself_is_not() {
        let places = Places::bare(PathStyle::Posix);
        let touched = |host: &str, ports: &[u16]| {
            let arguments = Arguments { ports: ports.to_vec(), host: host.to_owned() };
            let touches = CheckPorts::touches(&arguments, &places);
            touches.map(|it| it.hosts.iter().map(ToString::to_string).collect::<Vec<_>>())
        };
        for host in ["localhost", "LocalHost", "127.0.0.1", "::1", "::ffff:127.0.0.1"] {
            assert_eq!(touched(host, &[80]), Ok(Vec::new()), "{host}");
        }
        assert_eq!(
            touched("nas.example", &[22, 80]).unwrap(),
            ["nas.example:22", "nas.example:80"]
        );
        for host in ["127.1", "0.0.0.0", "2130706433", "localhost.", "0x7f000001"] {
            assert_eq!(touched(host, &[80]).unwrap().len(), 1, "{host}");
        }
        for (host, ports) in [
            ("", &[80][..]),
            ("nas.example/x", &[80]),
            ("nas\u{200b}.example", &[80]),
            ("ann@nas.example", &[80]),
            ("localhost", &[]),
            ("localhost", &[80, 0]),
            ("localhost", &[80; MAX_PORTS + 1]),
        ] {
            let code = touched(host, ports).map_err(|error| error.code);
            assert_eq!(code, Err(ErrorCode::InvalidArgument), "{host}");
        }
    }
}
