//! The hosts that every device contacts by itself: its gateway, its resolvers and its backend.

use std::fs::File;
use std::io::Read;
use std::net::{IpAddr, Ipv4Addr};

use orion_domain::hosts::Address;
use orion_domain::{ErrorCode, ToolError};

use crate::tools::Context;
use crate::tools::reach::resolve_any;

/// Maximum size of a file of settings that is read, in bytes.
const MAX_FILE_BYTES: u64 = 64 * 1024;
/// Maximum number of resolvers that are contacted, as resolvers of C have it.
const MAX_RESOLVERS: usize = 3;
/// The flag of a route through a gateway.
const VIA_GATEWAY: u32 = 2;

fn text(path: &str) -> String {
    let mut text = Vec::new();
    let read = File::open(path).and_then(|file| file.take(MAX_FILE_BYTES).read_to_end(&mut text));
    read.map(|_| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default()
}

/// Returns the gateway of the default IPv4 route. `None` where the agent sees none.
pub(super) fn gateway() -> Option<IpAddr> {
    if cfg!(target_os = "linux") { gateway_in(&text("/proc/net/route")) } else { None }
}

/// Finds the gateway in the kernel's table of routes.
fn gateway_in(table: &str) -> Option<IpAddr> {
    table.lines().find_map(|line| {
        let fields: Vec<_> = line.split_ascii_whitespace().take(8).collect();
        let &[_, destination, gateway, flags, _, _, _, mask] = fields.as_slice() else {
            return None;
        };
        let number = |hex: &str| u32::from_str_radix(hex, 16).ok();
        let is_default = number(destination)? == 0 && number(mask)? == 0;
        (is_default && number(flags)? & VIA_GATEWAY != 0)
            .then(|| Ipv4Addr::from(number(gateway).unwrap_or_default().to_ne_bytes()).into())
    })
}

/// Returns the resolvers of the operating system. Empty where the agent sees none.
pub(super) fn resolvers() -> Vec<IpAddr> {
    if cfg!(unix) { resolvers_in(&text("/etc/resolv.conf")) } else { Vec::new() }
}

fn resolvers_in(settings: &str) -> Vec<IpAddr> {
    let resolver = |line: &str| {
        let mut words = line.split_ascii_whitespace();
        words.next().filter(|word| *word == "nameserver")?;
        words.next()?.parse().ok()
    };
    settings.lines().filter_map(resolver).take(MAX_RESOLVERS).collect()
}

/// Returns the IP addresses of the backend. Any address may be a backend's, also the device itself. Empty for
/// a name that is not known.
pub(super) fn of_backend(
    address: &Address,
    context: &Context<'_>,
) -> Result<Vec<IpAddr>, ToolError> {
    match resolve_any(address, context) {
        Err(error) if error.code == ErrorCode::ExecutionFailed => Ok(Vec::new()),
        resolved => resolved,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_endian = "little")]
    #[test]
    fn the_gateway_is_that_of_the_default_route() {
        let heading = "Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT\n";
        let local = "eth0 0001A8C0 00000000 0001 0 0 0 00FFFFFF 0 0 0\n";
        let other = "eth0 0000000A 0201A8C0 0003 0 0 0 000000FF 0 0 0\n";
        let default = "eth0 00000000 0101A8C0 0003 0 0 100 00000000 0 0 0\n";
        let table = [heading, local, other, default].concat();
        assert_eq!(gateway_in(&table), Some(IpAddr::from([192, 168, 1, 1])));
        assert_eq!(gateway_in(&[heading, local, other].concat()), None);
        assert_eq!(gateway_in(""), None);
    }

    #[test]
    fn the_first_resolvers_are_contacted() {
        let settings = "# nameserver 192.0.2.9\nsearch example\nnameserver 192.0.2.1\nnameserver 2001:db8::1\nnameserver x\nnameserver\nnameserver 192.0.2.2\nnameserver 192.0.2.3\n";
        let expected: Vec<IpAddr> =
            ["192.0.2.1", "2001:db8::1", "192.0.2.2"].map(|ip| ip.parse().unwrap()).to_vec();
        assert_eq!(resolvers_in(settings), expected);
    }
}
