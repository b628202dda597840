//! Executes `check_ports`.

#[cfg(target_os = "linux")]
mod listening;

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use orion_catalog::tools::check_ports::{Arguments, CheckPorts, Port, Returns};
use orion_domain::ToolError;
use orion_domain::hosts::Address;

use super::reach::{Contact, contact, resolve};
use super::{Context, Outcome, PlainTool};

impl PlainTool for CheckPorts {
    fn run(arguments: Arguments, context: &Context<'_>) -> Result<Outcome<Returns>, ToolError> {
        let addresses = arguments.addresses()?;
        let own = addresses.iter().all(Address::is_loopback);
        let seen = if own { listening(&addresses, context)? } else { None };
        let ports = match seen {
            Some(seen) => {
                let port = |address: &Address| Port {
                    port: address.port,
                    listening: seen.contains_key(&address.port),
                    process: seen.get(&address.port).cloned().flatten(),
                };
                addresses.iter().map(port).collect()
            }
            None => contacted(&addresses, context)?,
        };
        let open = ports.iter().filter(|port| port.listening).count();
        let host = addresses.first().map(|address| address.host.as_str()).unwrap_or_default();
        let message = format!("On {host}, {open} of {} ports accept connections.", ports.len());
        Ok(Outcome::new(message, Returns { ports }))
    }
}

/// The ports on which something listens, with the name of the process if the agent can see it.
type Listening = BTreeMap<u16, Option<String>>;

/// Returns what listens on the device itself. `None` where the operating system does not report it.
#[cfg(target_os = "linux")]
fn listening(addresses: &[Address], context: &Context<'_>) -> Result<Option<Listening>, ToolError> {
    listening::on(addresses, context)
}

#[cfg(not(target_os = "linux"))]
fn listening(_: &[Address], _: &Context<'_>) -> Result<Option<Listening>, ToolError> {
    Ok(None)
}

/// Connects to each port. All are of one host, which is resolved once.
fn contacted(addresses: &[Address], context: &Context<'_>) -> Result<Vec<Port>, ToolError> {
    let Some(first) = addresses.first() else { return Ok(Vec::new()) };
    let ips = resolve(first, context)?;
    let at = |address: &Address| -> Vec<SocketAddr> {
        ips.iter().map(|ip: &IpAddr| SocketAddr::new(*ip, address.port)).collect()
    };
    let hosts: Vec<_> = addresses.iter().map(at).collect();
    let contacts = contact(&hosts, context)?;
    let port = |(address, contact): (&Address, &Contact)| Port {
        port: address.port,
        listening: matches!(contact, Contact::Accepted(_)),
        process: None,
    };
    Ok(addresses.iter().zip(&contacts).map(port).collect())
}

#[cfg(test)]
mod tests;
