//! Executes `check_network`.

mod own;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use orion_catalog::tools::check_network::{Arguments, CheckNetwork, Reached, Returns, Target};
use orion_domain::hosts::Address;
use orion_domain::{ErrorCode, ToolError};

use super::reach::{Contact, contact, resolve};
use super::{Context, Outcome, PlainTool};

/// The ports on which a gateway is contacted. Any answer shows that it is there.
const GATEWAY_PORTS: [u16; 3] = [53, 80, 443];
const DNS_PORT: u16 = 53;

impl PlainTool for CheckNetwork {
    fn run(arguments: Arguments, context: &Context<'_>) -> Result<Outcome<Returns>, ToolError> {
        let targets = arguments.parsed()?;
        let mut plans = Vec::with_capacity(targets.len());
        for target in &targets {
            plans.push(plan(target, context)?);
        }
        let hosts: Vec<_> = plans.iter().map(|plan| plan.addresses.clone()).collect();
        let contacts = contact(&hosts, context)?;
        let reached = plans.iter().zip(contacts).zip(arguments.targets);
        let targets: Vec<_> =
            reached.map(|((plan, contact), target)| plan.reached(contact, target)).collect();
        let count = targets.iter().filter(|target| target.reachable).count();
        let message = format!("{count} of {} targets are reachable.", targets.len());
        Ok(Outcome::new(message, Returns { targets }))
    }
}

/// The addresses of a target, and what counts as an answer.
#[derive(Debug)]
struct Plan {
    addresses: Vec<SocketAddr>,
    /// Whether a refused connection shows that the target is reachable.
    any_answer: bool,
    /// Why there are no addresses.
    missing: String,
}

fn plan(target: &Target, context: &Context<'_>) -> Result<Plan, ToolError> {
    let plan = |addresses, any_answer, missing: &str| {
        Ok(Plan { addresses, any_answer, missing: missing.to_owned() })
    };
    let each = |ips: Vec<IpAddr>, ports: &[u16]| {
        let at = |ip| ports.iter().map(move |port| SocketAddr::new(ip, *port));
        ips.into_iter().flat_map(at).collect::<Vec<_>>()
    };
    match target {
        Target::Gateway => {
            let gateway = own::gateway().into_iter().collect();
            plan(each(gateway, &GATEWAY_PORTS), true, "The agent sees no gateway.")
        }
        Target::Dns => {
            plan(each(own::resolvers(), &[DNS_PORT]), true, "The agent sees no DNS servers.")
        }
        Target::Backend => {
            let mut addresses = Vec::new();
            let known = context.installation.backend.iter().filter_map(|it| Address::parse(it));
            for address in known {
                let ips = own::of_backend(&address, context)?;
                addresses.extend(each(ips, &[address.port]));
            }
            plan(addresses, false, "The name of the backend is not known to the device's resolver.")
        }
        Target::Host(address) => match resolve(address, context) {
            Ok(ips) => plan(each(ips, &[address.port]), false, ""),
            Err(error) if error.code == ErrorCode::ExecutionFailed => {
                plan(Vec::new(), false, &error.message)
            }
            Err(error) => Err(error),
        },
    }
}

impl Plan {
    fn reached(&self, contact: Contact, target: String) -> Reached {
        let (reachable, detail) = match contact {
            Contact::Accepted(_) => (true, "It accepted a connection."),
            Contact::Refused(_) if self.any_answer => (true, "It answered."),
            Contact::Refused(_) => (false, "It answered that nothing listens on this port."),
            Contact::Silent if self.addresses.is_empty() => (false, self.missing.as_str()),
            Contact::Silent => (false, "It did not answer."),
        };
        let latency_ms = contact.latency().map(milliseconds);
        Reached { target, reachable, latency_ms, detail: detail.to_owned() }
    }
}

/// Returns a duration in milliseconds, to two decimals.
fn milliseconds(took: Duration) -> f64 {
    (took.as_secs_f64() * 100_000.0).round() / 100.0
}

#[cfg(test)]
mod tests;
